# An error page that is sent as `=200` and found not modified is 304 to the client: free, as its headers
# say.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $redis  = $shards->primary(0);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main;
        location / { rate_limit 9r/h; error_page 404 =200 /x; }',
);

is limits($nginx->get('/none', 'X-Key' => 'a'))->{used}, 1, 'the page instead of 404';
my $same = $nginx->get('/none', 'X-Key' => 'a', 'If-None-Match' => '*');
is $same->status, 304, 'not modified';
is limits($same)->{used}, 1, 'is shown as free';
$nginx->stop;
is $redis->used('a'), 1, 'and is';

done;
