# A map that has no room in the memory that workers share is not used: the log says so once, and not that there are other primaries; nodes that
# refuse what does not fit the map are asked for it less and less often.

use RateLimit::Test;

my $port  = free_port();
my $small = cluster_slots([0, 16383, "127.0.0.1:$port"]);
my $large = cluster_slots(map { [$_, $_, ["n$_." . join('.', ('x' x 60) x 4), 7000]] } 0 .. 5999);
my $node  = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
    return $conn->state('large') ? $large : $small if $words->[0] eq 'cluster';
    return RateLimit::Cluster->slot_of_command($words) ? error('CLUSTERDOWN Hash slot not served') : fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 5s; charge_timeout 9s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/h mode=charge_refund; }',
);
my sub asked () { return scalar $node->commands('cluster') }
wait_until { asked() } what => 'the map';
$node->set(large => 1);
my $before = asked();
my $begin  = monotonic();
$nginx->get('/?k=a');
# While requests are refused it would be asked for again each second, whether its answer, of megabytes, has come or not.
my $told = qr/"main" has too many servers for the memory that workers share: its last topology holds/;
$nginx->wait_log($told);
wait_until { $nginx->get('/?k=a'); asked() >= $before + 8 } what => 'a large map, often', timeout => 30;
# The gaps are 0.1, 0.2, 0.4, 0.8 s, and then a second each; the first may be over.
cmp_ok monotonic() - $begin, '>', 3, 'less and less often';
is $nginx->count_log($told), 1, 'the log says so once';
is $nginx->count_log(qr/primaries now/), 0, 'and of no other primaries';
$node->set(large => 0);
is $nginx->get('/?k=a')->status, 200, 'requests are served';

done;
