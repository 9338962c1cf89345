# Row 21 of the fault matrix. A primary is killed under load: nobody gets an error of nginx, nobody waits; when its replica has taken its
# place, what waited of all slots arrives, and the books balance.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start;
my @modes   = qw(check_charge charge_refund lease);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 1s; connect_timeout 1s; charge_timeout 1s;')
        . 'log_format took "$status $rate_limit_status $rate_limit_store_time $uri $arg_k";',
    server  => 'access_log %%DIR%%/took took; keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
wait_until { $nginx->http->get('/charge_refund?k=first')->status == 200 } what => 'the map';
my $requests = 4800;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => $requests, connections => 8, rate => 100);
let_pass(0.5);
my $old = $cluster->primary_of('rl:check_charge/86400:1');
$old->kill;
$cluster->wait_promoted($old);
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests pass' or diag explain $counts;
my $client = $nginx->http;
wait_until {
    for my $mode (@modes) { $client->get("/$mode?k=$_") for 1 .. 20 }
    my @last = ($nginx->lines('took'))[-60 .. -1];
    !grep { !/^200 PASSED/ } @last
} what => 'all checks to be answered';

$nginx->stop;    # the last request is logged after its response
my @requests = grep { $_->[4] ne 'first' } map { [split / /] } $nginx->lines('took');
my @waits = sort { $b <=> $a } grep { /\d/ } map { $_->[2] } @requests;
# Those that were sent to it and not answered know at once, too: the connection ends.
cmp_ok $waits[0], '<', patience(0.7), 'nobody waits for check_timeout';
my $errors = grep { $_->[1] ne 'PASSED' } @requests;
cmp_ok $errors, '>', 0, "$errors of " . @requests . ' by rate_limit_on_error';

# Lost is what was not replicated: what the last turn of its event loop took.
my $lost  = 20;
my $doubt = sum0 map { my $kind = $_; max(0, map { /($kind) for .*\((\d+) in doubt so far/ ? $2 : () } split /\n/, $nginx->error_log) }
    qw(charges refunds reservations);
for my $mode (@modes) {
    my $admitted = grep { $_->[3] eq "/$mode" } @requests;
    my $stored   = sum0 map { $cluster->used($_, "$mode/86400") } 1 .. 20;
    # A reservation in doubt, and tokens fetched, may be stored for nobody.
    my $most = $admitted + ($mode eq 'check_charge' ? 0 : 1000 * $doubt);
    ok $stored >= $admitted - $doubt - $lost && $stored <= $most, "$mode: $admitted admitted, $stored stored, $doubt in doubt";
}
is $nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
