# Row 22 of the fault matrix. A failover with FORCE and one with TAKEOVER under load: all requests are answered, and the books balance: what
# the former primary took and had not replicated yet is lost, and nothing else.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start;
my @modes   = qw(check_charge charge_refund);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 2s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
wait_until { $nginx->http->get('/charge_refund?k=first')->status == 200 } what => 'the map';
my $requests = 3200;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => $requests, connections => 8, rate => 100);
let_pass(0.5);
my @hows = qw(FORCE TAKEOVER);
for my $i (0, 1) {
    my $old = $cluster->primary_of('rl:check_charge/86400:' . (1, 2)[$i]);
    $cluster->failover(($cluster->replicas_of('rl:check_charge/86400:' . (1, 2)[$i]))[0], $hows[$i]);
}
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests pass' or diag explain $counts;
$nginx->stop;
my $stored = sum0 map { my $name = $_; map { $cluster->used($_, "$name/86400") } 1 .. 20 } @modes;
cmp_ok $stored, '<=', $requests, 'none is stored twice';
cmp_ok $stored, '>=', $requests - 40, 'few are lost: ' . ($requests - $stored);
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'nothing is in doubt or dropped';

done;
