# When worker_connections are used up a node cannot be asked: no crash, and charges wait for their turn.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $replica = RateLimit::Redis->start(replica_of => $redis);
my $nginx   = RateLimit::Nginx->with_limit('100r/h', redis_block('main', [$redis, $replica], ''),
    key => 'k', events => 'worker_connections 4;');
$nginx->expect_log(qr/worker_connections are not enough/);
my ($half, $client) = map { $nginx->http } 1 .. 2;
my ($begin, $end) = ("GET /x HTTP/1.1\r\n", "Host: localhost\r\n\r\n");
$half->send($begin);
$client->send("$begin$end$begin");    # a connection on which nothing has begun nginx may close for another one
is $client->response->status, 200, 'a request is served';
$nginx->wait_log(qr/is down: worker_connections are not enough/);
is $client->send($end)->response->status, 200, 'and the next';
$_->close for $half, $client;
wait_until { $redis->used('k') == 2 } what => 'the charges once a connection is free';

done;
