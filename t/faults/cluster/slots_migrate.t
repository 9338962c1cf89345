# Row 23 of the fault matrix. While slots move from node to node, key by key, and under load, all that is admitted is stored once: commands
# follow ASK while a slot moves, and MOVED when it has moved.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 15_000);
my $load    = RateLimit::ClusterLoad->open($cluster)->begin;
let_pass(0.3);
for my $mode (qw(check_charge charge_refund lease)) {
    for my $key (1 .. 6) {
        my $slot = $cluster->slot_of("rl:$mode/86400:$key");
        my $from = $cluster->node_of($slot);
        my ($to) = grep { $_ != $from } $cluster->primaries;
        $cluster->begin_migration($from, $to, $slot) if $key % 2;
        let_pass(0.05);
        $cluster->migrate_slots($from, $to, $slot);
    }
}
$load->all_pass->stop;
my $stored = $load->stored;
is sum0(values %$stored), 4000, 'each is stored once' or diag explain $stored;
$load->nothing_lost;

done;
