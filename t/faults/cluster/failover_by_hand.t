# Row 22 of the fault matrix. A failover by hand in a cluster loses nothing: commands follow MOVED, a promoted replica needs no new
# connection, and what waited reaches the new primary.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $load    = RateLimit::ClusterLoad->open($cluster)->begin;
let_pass(0.5);
$cluster->failover($_) for map { ($cluster->replicas_of("rl:lease/86400:$_"))[0] } 1, 2;
my $passed = $load->stop_after_failover;
my $stored = $load->stored;
is sum0(values %$stored), $passed, 'each is stored once' or diag explain $stored;
$load->nothing_lost_by_failover;

done;
