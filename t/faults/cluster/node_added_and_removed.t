# Row 25 of the fault matrix. Under load a node is added, gets slots, gives them back, and is removed: each request is stored once, and no
# worker keeps a connection to it, or goes on trying to make one.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 15_000);
my $load    = RateLimit::ClusterLoad->open($cluster, modes => [qw(check_charge lease)], rate => 80)->begin;
my $added = $cluster->add_node;
my @slots = map { $cluster->slot_of("rl:check_charge/86400:$_") } 1 .. 6;
my %from  = map { $_ => $cluster->node_of($_) } @slots;
$cluster->migrate_slots($from{$_}, $added, $_) for @slots;
$added->forget_calls;
my $client = $load->nginx->http;
my $sent   = 0;
# The load may have ended before a busy machine has moved the slots.
wait_until { $client->get('/check_charge?k=1'); ++$sent; $added->calls('hincrby') } what => 'the new node to be charged';
$cluster->migrate_slots($added, $from{$_}, $_) for @slots;
my sub clients () { return scalar grep { !/cmd=client/ } split /\n/, $added->cmd('CLIENT', 'LIST', 'TYPE', 'normal') }
$load->all_pass;
wait_until { !clients() } timeout => 40, what => 'connections to the node to be closed';
$cluster->remove_node($added);
for my $round (1 .. 5) { $client->get("/check_charge?k=$_") for $load->keys }
let_pass(0.5);
$load->stop;

my $stored = $load->stored;
is sum0(values %$stored), 4000 + 100 + $sent, 'each is stored once' or diag explain $stored;
$load->nothing_lost('nothing is in doubt, and nobody asks the node that is gone');

done;
