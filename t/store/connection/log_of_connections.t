# Events of a connection to Redis are logged as the worker's, never as a client's, though a request of that client opened the
# connection; events of a request name its client.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('9r/h', redis_block('main', $redis, always_checks()));

my $first = $nginx->http;
is limits($first->get('/x', 'X-Key' => 'k'))->{limit}, 9, 'a request opens the connection';
my $second = $nginx->http;
is $second->get('/x', 'X-Key' => 'k')->status, 200, 'another uses it';
$first->close;
$redis->kill;
is $second->get('/x', 'X-Key' => 'k')->status, 200, 'without Redis';
$nginx->wait_log(qr/is down/);
$redis->restart;
$nginx->wait_log(qr/is up again/);
$nginx->stop;
my @lines = grep { /of shard "a"/ } split /\n/, $nginx->error_log;
cmp_ok scalar @lines, '>=', 2, 'down and up are logged';
is_deeply [grep { /client:|\*\d+ / } @lines], [], 'without a client';
is $nginx->count_log(qr/\*\d+ rate limit "default" .*could not be checked.*client: 127\.0\.0\.1.*GET/), 1,
    'a request that could not be checked is logged with its client';

done;
