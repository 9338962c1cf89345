# Row 29 of the fault matrix. Nodes that announce another port than they listen to are asked at that one, also after MOVED.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(primaries => 2, replicas => 0);
my @nodes   = $cluster->nodes;
my %proxy   = map { $_->port => RateLimit::Proxy->start(to => $_->port) } @nodes;
$_->cmd('CONFIG', 'SET', 'cluster-announce-port', $proxy{$_->port}->port) for @nodes;
my @announced = sort map { $_->port } values %proxy;
wait_until {
    !grep {
        my @told = sort map { $_->[2][1] } @{$_->cmd('CLUSTER', 'SLOTS')};
        "@told" ne "@announced"
    } @nodes
} what => 'the nodes to announce the ports of the proxies';

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_redis main { cluster ' . $proxy{$nodes[0]->port}->address . '; check_timeout 5s; connect_timeout 5s; fresh off; }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/d; }',
);
my sub shard ($key) { return $nginx->get("/?k=$key")->header('X-Shard') }
wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } what => 'the map';
my %of;    # a key of each node
for my $key ('a' .. 'z') { $of{$cluster->primary_of("rl:default/86400:$key")->port} //= $key }
for my $node (@nodes) {
    is shard($of{$node->port}), $proxy{$node->port}->address, 'a window is at the port that its node announces';
}
my $key  = $of{$nodes[0]->port};
my $slot = $cluster->slot_of("rl:default/86400:$key");
wait_until { $cluster->used($key, 'default/86400') } what => 'a charge';
my $used = $cluster->used($key, 'default/86400');
$cluster->migrate_slots($nodes[0], $nodes[1], $slot);
is outcome($nginx->get("/?k=$key")), '200 PASSED', 'a request after the slot has moved';
is shard($key), $proxy{$nodes[1]->port}->address, 'MOVED led to the other announced port';
wait_until { $cluster->used($key, 'default/86400') == $used + 2 } what => 'the charges of both';

done;
