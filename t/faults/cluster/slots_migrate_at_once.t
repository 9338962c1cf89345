# Row 24 of the fault matrix. Slots move at once, as Valkey 9 does it, under load: each request is stored once, and windows keep their end.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 15_000);
plan skip_all => 'the server has no CLUSTER MIGRATESLOTS: name one by REDIS_SERVER' if !$cluster->knows_atomic_migration;
my $load   = RateLimit::ClusterLoad->open($cluster);
my $client = $load->nginx->http;
$client->get("/check_charge?k=$_") for 1 .. 20;
wait_until { !grep { !$cluster->used($_, 'check_charge/86400') } 1 .. 20 } what => 'the charges';
my $before = sum0 values %{$load->stored};
my %reset  = map { $_ => $cluster->stored($_, 'check_charge/86400')->{reset} } 1 .. 20;
$load->begin;
let_pass(0.3);
for my $key (1 .. 5) {
    my $slot = $cluster->slot_of("rl:check_charge/86400:$key");
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->migrate_at_once($from, $to, $slot);
}
$load->all_pass->stop;
is sum0(values %{$load->stored}) - $before, 4000, 'each is stored once';
is_deeply {map { $_ => $cluster->stored($_, 'check_charge/86400')->{reset} } 1 .. 20}, \%reset, 'windows keep their end';
$load->nothing_lost;

done;
