# Replicas killed and restarted; with none left the primary is read; then rate_limit_on_error decides.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 2);
my $alone  = RateLimit::Redis->start;
my ($primary, @replicas) = $shards->all;
my $nginx = RateLimit::Nginx->start(
    http => $shards->block('main', always_checks())
        . redis_block('alone', $alone),
    server => 'rate_limit_key $http_x_key; add_header X-Outcome $rate_limit_status always;'
        . 'rate_limit 1000r/h store=main; location / {}'
        . 'location /alone { rate_limit 2r/h store=alone; }',
);
my $client = $nginx->http;
sub ask ($uri, $count) { return outcomes(map { $client->get($uri, 'X-Key' => 'k') } 1 .. $count) }

# Since the last such question. A check that takes too long is asked of another one as well.
sub reads_of (@servers) {
    my $reads = sum0(map { $_->calls('hmget') } @servers);
    $_->forget_calls for $primary, @servers;
    return $reads;
}

sub is_up ($redis) { return qr/\Q@{[$redis->address]}\E of shard "a" of "main" is up again/ }

is_deeply ask('/alone', 2), {'200 PASSED' => 2}, 'a shard without replicas';
wait_until { $alone->used('k') == 2 } what => 'its charges';
is_deeply ask('/alone', 1), {'429 REJECTED' => 1}, 'reads its primary';

is_deeply ask('/x', 10), {'200 PASSED' => 10}, 'healthy';
cmp_ok reads_of(@replicas), '>=', 10, 'replicas are read';
$replicas[0]->kill;
is_deeply ask('/x', 10), {'200 PASSED' => 10}, 'one replica killed';
cmp_ok reads_of($replicas[1]), '>=', 10, 'the other is read';
$replicas[1]->kill;
is_deeply ask('/x', 10), {'200 PASSED' => 10}, 'both killed';
is reads_of($primary), 10, 'the primary is read';
$replicas[0]->restart;
$nginx->wait_log(is_up($replicas[0]));
$_->forget_calls for $primary, $replicas[0];
is_deeply ask('/x', 10), {'200 PASSED' => 10}, 'one restarted';
is $replicas[0]->calls('hmget'), 10, 'is read again';

$_->kill for $replicas[0], $primary;
is_deeply ask('/x', 10), {'200 ERROR_ALLOWED' => 10}, 'nothing left: rate_limit_on_error decides';
$nginx->wait_log(qr/rate limit "default" in .* could not be checked: no node of the shard is up/);
$primary->restart;
$nginx->wait_log(is_up($primary));
is_deeply ask('/x', 10), {'200 PASSED' => 10}, 'the primary is back';

done;
