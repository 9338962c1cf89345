# Row 25 of the fault matrix. Under load a node is added, gets slots, gives them back, and is removed: each request is stored once, and no
# worker keeps a connection to it, or goes on trying to make one.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 3000);
my @modes   = qw(check_charge lease);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 2s; connect_timeout 2s; charge_timeout 2s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
wait_until { $nginx->http->get('/check_charge?k=first')->status == 200 } what => 'the map';
my $requests = 4000;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => $requests, connections => 8, rate => 80);
my $added = $cluster->add_node;
my @slots = map { $cluster->slot_of("rl:check_charge/86400:$_") } 1 .. 6;
my %from  = map { $_ => $cluster->node_of($_) } @slots;
$cluster->migrate_slots($from{$_}, $added, $_) for @slots;
$added->forget_calls;
wait_until { $added->calls('hincrby') } what => 'the new node to be charged';
$cluster->migrate_slots($added, $from{$_}, $_) for @slots;
my sub clients () { return scalar grep { !/cmd=client/ } split /\n/, $added->cmd('CLIENT', 'LIST', 'TYPE', 'normal') }
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests pass' or diag explain $counts;
wait_until { !clients() } timeout => 20, what => 'connections to the node to be closed';
$cluster->remove_node($added);
my $client = $nginx->http;
for my $round (1 .. 5) { $client->get("/check_charge?k=$_") for 1 .. 20 }
let_pass(0.5);
$nginx->stop;

my %stored = map { my $name = $_; $name => sum0 map { $cluster->used($_, "$name/86400") } 1 .. 20 } @modes;
is sum0(values %stored), $requests + 100, 'each is stored once' or diag explain \%stored;
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'nothing is in doubt, and nobody asks the node that is gone';

done;
