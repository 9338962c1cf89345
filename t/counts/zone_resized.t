# A zone of another size is another zone: everything is counted from 0, since now. A reload with the same size goes on.

use RateLimit::Test;
use JSON::PP;

my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => 'rate_limit_zone 1m; rate_limit_key $arg_k;',
    server => 'location /limits/ { rate_limit_console view; } location / { rate_limit 2r/d name=n store=local; }',
);
my sub told () { return decode_json($nginx->get('/limits/json')->body) }

$nginx->get('/?k=a') for 1 .. 3;
wait_until { told()->{requests}{rejected} == 1 } what => 'the requests to be counted';
my $first = told();
is_deeply [@{$first->{limits}[0]{decisions}}{qw(passed rejected)}], [2, 1], 'decisions are counted';
is $first->{top}{total}, 1, '... and the key that was rejected';

$nginx->travel('+60');
$nginx->reload;
my $same = told();
is $same->{since}, $first->{since}, 'a reload goes on: since the same time';
is_deeply $same->{requests}, $first->{requests}, '... with the same counts';

$nginx->reload(http => 'rate_limit_zone 2m; rate_limit_key $arg_k;');
my $other = told();
cmp_ok $other->{since}, '>=', $first->{since} + 60, 'another size: since now';
is sum0(values %{$other->{requests}}), 0, 'no request';
is sum0(values %{$other->{limits}[0]{decisions}}, $other->{limits}[0]{charged}), 0, 'no decision';
is_deeply [$other->{top}{total}, @{$other->{top}{keys}}], [0], 'nobody was rejected';
is $other->{zone}{bytes}, 2 * 1024 * 1024, 'and it has the new size';
is $nginx->get('/?k=a')->status, 200, 'the client has a new window';
wait_until { told()->{zone}{windows}{open} == 1 } what => 'its window to be seen';

done;
