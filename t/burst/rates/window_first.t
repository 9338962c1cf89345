# window=first beside burst= changes nothing: the limit is the bucket that it is without, and the same one; where a variable burst is empty, the windows that
# then count are of that kind.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    clock  => 1, http => 'rate_limit_key all; rate_limit_headers github ietf;',
    server => 'location /said { rate_limit 10r/s burst=20 window=first name=b; }
        location /unsaid { rate_limit 10r/s burst=20 name=b; }
        location /empty { rate_limit 10r/s burst=$arg_b window=first name=v mode=charge_refund; }',
);
$nginx->stand_at(1_800_000_000.5);
my $first = $nginx->get('/said');
shows $first, 200, {limit => 20, used => 1, remaining => 19}, 'a bucket';
is $first->header('RateLimit-Policy'), '"b";q=20;w=2', '... with the policy of one';
shows $nginx->get('/unsaid'), 200, {limit => 20, used => 2, remaining => 18}, 'which is the same without the word';
shows $nginx->get('/empty?b=20'), 200, {limit => 20, used => 1}, 'a variable burst';
shows $nginx->get('/empty'), 200, {limit => 10, used => 1, remaining => 9, reset => 1_800_000_002}, 'where it is empty, a window from this request';

done;
