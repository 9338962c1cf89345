# Row 23 of the fault matrix. While slots move from node to node, key by key, and under load, all that is admitted is stored once: commands follow ASK while a slot
# moves, and MOVED when it has moved.

use RateLimit::Test;
use RateLimit::Cluster;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 3000);
my @modes   = qw(check_charge charge_refund lease);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 2s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
wait_until { $nginx->http->get('/charge_refund?k=first')->status == 200 } what => 'the map';
my $requests = 4000;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => $requests, connections => 8, rate => 100);
let_pass(0.3);
for my $mode (@modes) {
    for my $key (1 .. 6) {
        my $slot = $cluster->slot_of("rl:$mode/86400:$key");
        my $from = $cluster->node_of($slot);
        my ($to) = grep { $_ != $from } $cluster->primaries;
        $cluster->begin_migration($from, $to, $slot) if $key % 2;
        let_pass(0.05);
        $cluster->migrate_slots($from, $to, $slot);
    }
}
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests pass' or diag explain $counts;
$nginx->stop;

my %stored = map { my $name = $_; $name => sum0 map { $cluster->used($_, "$name/86400") } 1 .. 20 } @modes;
is sum0(values %stored), $requests, 'each is stored once' or diag explain \%stored;
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'nothing is in doubt';

done;
