# Charges that were sent when the connection broke are in doubt: counted, logged and never sent again.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', [$proxy, $redis], timeouts('20s')),
    key => 'k');
my $client = $nginx->http;

$client->get('/x');
wait_until { $redis->used('k') == 1 } what => 'the first charge';
$proxy->stall('answers');
$client->get('/x') for 1 .. 3;
wait_until { $redis->used('k') == 4 } what => 'charges without answers';
$proxy->stall('questions');
$client->get('/x') for 1 .. 2;
$proxy->drop(1);
$nginx->wait_log(qr/charges for primary .* are in doubt and not sent again/);
$proxy->flow;
$client->get('/x');
wait_until { $redis->used('k') == 5 } what => 'the next charge';
$nginx->stop;
is $redis->used('k'), 5, 'what was sent before is not sent again, whether it arrived or not';
my $told = sum0($nginx->error_log =~ /rate limit: (\d+) charges for .* are in doubt/g);
is $told, 5, 'each is told';
is $nginx->count_log(qr/are in doubt .*\(5 in doubt so far\)/), 1, 'and their sum';

done;
