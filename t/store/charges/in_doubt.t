# The charges of the batch that was sent when the connection broke are in doubt: counted, logged and never sent again.
# Those that waited for its answer are sent.

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
wait_until { $redis->used('k') == 2 } what => 'a charge without an answer';
$proxy->drop(1);
$nginx->wait_log(qr/1 charges for primary .* are in doubt and not sent again/);
$proxy->flow;
wait_until { $redis->used('k') == 4 } what => 'those that waited for it';
# When the pause between two batches is over, one leaves at once.
let_pass(0.1);
$proxy->stall('questions');
$client->get('/x') for 1 .. 3;
$proxy->drop(1);
$nginx->wait_log(qr/\(2 in doubt so far\)/);
$proxy->flow;
wait_until { $redis->used('k') == 6 } what => 'those that waited for the next one';
$nginx->stop;
is $redis->used('k'), 6, 'what was sent before is not sent again, whether it arrived or not';
is sum0($nginx->error_log =~ /rate limit: (\d+) charges for .* are in doubt/g), 2, 'each is told';

done;
