# Row 32 of the fault matrix. A cluster over TLS: nodes announce their TLS ports in the map and in MOVED, slots move and a primary is killed under load, and
# all is served and stored as in clear text.
# nightly

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $cluster   = RateLimit::Cluster->start(tls => {%$server, trusted => $authority->file});
my $tls       = 'ssl on; ssl_trusted_certificate ' . $authority->file . ';';
my $requests  = 2560;    # as many to each uri
my $load      = RateLimit::ClusterLoad->open($cluster,
    modes => [qw(check_charge charge_refund)], requests => $requests, rate => 60, on_error => 'allow',
    block => "$tls check_timeout 2s; connect_timeout 2s; charge_timeout 2s;",
)->begin;
for my $key (1 .. 4) {
    my $slot = $cluster->slot_of("rl:check_charge/86400:$key");
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->begin_migration($from, $to, $slot);
    let_pass(0.05);
    $cluster->migrate_slots($from, $to, $slot);
}
$load->nothing_lost('slots move, and nothing goes wrong');
my $old = $cluster->primary_of('rl:check_charge/86400:1');
$old->kill;
$cluster->wait_promoted($old);
$load->all_pass;
# A slot that has just moved to the node that was killed stays with it for five seconds, whatever the map says.
my $client = $load->nginx->http;
wait_until { !grep { outcome($client->get("/charge_refund?k=$_")) ne '200 PASSED' } $load->keys } what => 'all to be served again', timeout => 20;
my sub least () { return $requests / 2 - $load->doubt->{charges} - 20 }
wait_until { $load->stored->{check_charge} >= least() } what => 'what waits to arrive, but for what is in doubt or was not replicated', timeout => 20;
$load->stop;
my $checked = $load->stored->{check_charge};
cmp_ok $checked, '<=', $requests / 2, 'nothing is stored twice';
cmp_ok $checked, '>=', least(), 'what is not stored was in doubt, or not replicated';
is $load->nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
