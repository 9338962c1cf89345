# Row 24 of the fault matrix. Slots move at once, as Valkey 9 does it, under load: each request is stored once, and windows keep their end.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 3000);
plan skip_all => 'the server has no CLUSTER MIGRATESLOTS: name one by REDIS_SERVER' if !$cluster->knows_atomic_migration;
my @modes = qw(check_charge charge_refund lease);
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 2s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
my $client = $nginx->http;
wait_until { !grep { $client->get("/check_charge?k=$_")->status != 200 } 1 .. 20 } what => 'the map';
wait_until { !grep { !$cluster->used($_, 'check_charge/86400') } 1 .. 20 } what => 'the charges';
my %before   = map { $_ => $cluster->used($_, 'check_charge/86400') } 1 .. 20;
my %reset    = map { $_ => $cluster->stored($_, 'check_charge/86400')->{reset} } 1 .. 20;
my $requests = 4000;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => $requests, connections => 8, rate => 100);
let_pass(0.3);
for my $key (1 .. 5) {
    my $slot = $cluster->slot_of("rl:check_charge/86400:$key");
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->migrate_at_once($from, $to, $slot);
}
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests pass' or diag explain $counts;
$nginx->stop;
my $stored = sum0 map { my $name = $_; map { $cluster->used($_, "$name/86400") } 1 .. 20 } @modes;
is $stored - sum0(values %before), $requests, 'each is stored once';
is_deeply {map { $_ => $cluster->stored($_, 'check_charge/86400')->{reset} } 1 .. 20}, \%reset, 'windows keep their end';
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'nothing is in doubt';

done;
