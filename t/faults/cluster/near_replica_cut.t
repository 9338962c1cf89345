# The near one of the replicas that a cluster names is read; while it is cut off the far one is, and the near one is read again when
# it is back.
# nightly

use RateLimit::Test;

# This test needs nothing that the nodes do among themselves, so their timeout is long.
my $cluster  = RateLimit::Cluster->start(primaries => 1, replicas => 2, node_timeout => 60_000);
my @replicas = $cluster->replicas;
my @proxies  = RateLimit::NearReplica->before(map { $_->port } @replicas);
$replicas[$_]->cmd('CONFIG', 'SET', 'cluster-announce-port', $proxies[$_]->port) for 0, 1;
my $wanted = join ' ', sort map { $_->port } $cluster->primaries, @proxies;
wait_until {
    !grep { $wanted ne join ' ', sort map { $_->[1] } map { @$_[2 .. $#$_] } @{$_->cmd('CLUSTER', 'SLOTS')} } $cluster->nodes
} what => 'the nodes to tell the ports of the proxies';
my ($primary) = $cluster->primaries;
RateLimit::NearReplica->read("rate_limit_redis main { cluster @{[$primary->address]}; @{[always_checks()]} }", @proxies);

done;
