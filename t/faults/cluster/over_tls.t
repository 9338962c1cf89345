# Row 32 of the fault matrix. A cluster over TLS: nodes announce their TLS ports in the map and in MOVED, slots move and a primary is killed under load, and
# all is served and stored as in clear text.
# nightly

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $cluster   = RateLimit::Cluster->start(tls => {%$server, trusted => $authority->file});
my @modes     = qw(check_charge charge_refund);
my $nginx     = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'ssl on; ssl_trusted_certificate ' . $authority->file . '; check_timeout 2s; connect_timeout 2s; charge_timeout 2s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @modes),
);
my $client = $nginx->http;
wait_until { $client->get('/charge_refund?k=first')->status == 200 } what => 'the map';
my $requests = 2560;    # as many to each uri
my @uris = map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes;
my $flood = RateLimit::Flood->start(port => $nginx->port, uris => \@uris, requests => $requests, connections => 8, rate => 60);
for my $key (1 .. 4) {
    my $slot = $cluster->slot_of("rl:check_charge/86400:$key");
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->begin_migration($from, $to, $slot);
    let_pass(0.05);
    $cluster->migrate_slots($from, $to, $slot);
}
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'slots move, and nothing goes wrong';
my $old = $cluster->primary_of('rl:check_charge/86400:1');
$old->kill;
$cluster->wait_promoted($old);
my $counts = $flood->counts;
is $counts->{2}, $requests, 'all requests are answered' or diag explain $counts;
wait_until { !grep { $client->get("/charge_refund?k=$_")->status != 200 } 1 .. 20 } what => 'all to be served again';
$nginx->stop;
my $checked = sum0 map { $cluster->used($_, 'check_charge/86400') } 1 .. 20;
my $doubt = max(0, map { /charges for .*\((\d+) in doubt so far/ ? $1 : () } split /\n/, $nginx->error_log);
cmp_ok $checked, '<=', $requests / 2, 'nothing is stored twice';
cmp_ok $checked, '>=', $requests / 2 - $doubt - 20, "what is not stored was in doubt ($doubt), or not replicated";
is $nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
