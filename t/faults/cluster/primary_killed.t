# Row 21 of the fault matrix. A primary is killed under load: nobody gets an error of nginx, nobody waits; when its replica has taken its
# place, what waited of all slots arrives, and the books balance.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start;
my $lease   = 5;
my $load    = RateLimit::ClusterLoad->open($cluster, requests => 4800, on_error => 'allow',
    block  => 'check_timeout 4s; connect_timeout 4s; charge_timeout 4s;',
    http   => 'log_format took "$status $rate_limit_status $rate_limit_store_time $uri $arg_k";',
    server => "access_log %%DIR%%/took took; rate_limit_lease $lease;",
)->begin;
my $nginx = $load->nginx;
my @modes = qw(check_charge charge_refund lease);
let_pass(0.5);
my $old = $cluster->primary_of('rl:check_charge/86400:1');
$old->kill;
$cluster->wait_promoted($old);
$load->all_pass;
my $client = $nginx->http;
wait_until {
    for my $mode (@modes) { $client->get("/$mode?k=$_") for $load->keys }
    my @last = ($nginx->lines('took'))[-60 .. -1];
    !grep { !/^200 PASSED/ } @last
} what => 'all checks to be answered';

$load->stop;    # the last request is logged after its response
my @requests = grep { $_->[4] ne 'first' } map { [split / /] } $nginx->lines('took');
my @waits = sort { $b <=> $a } grep { /\d/ } map { $_->[2] } @requests;
# Those that were sent to it and not answered know at once, too: the connection ends.
cmp_ok $waits[0], '<', patience(2.8), 'nobody waits for check_timeout';
my $errors = grep { $_->[1] ne 'PASSED' } @requests;
cmp_ok $errors, '>', 0, "$errors of " . @requests . ' by rate_limit_on_error';

# Lost is what was not replicated: what the last turn of its event loop took.
my $lost  = 20;
my %doubt = %{$load->doubt};
# A reservation in doubt may be stored for nobody, and a refund not be taken off. In a lease each is a batch.
my $uncertain = $doubt{reservations} + $doubt{refunds};
my %more      = (check_charge => 0, charge_refund => $uncertain, lease => $lease * $uncertain);
for my $mode (@modes) {
    my $admitted = grep { $_->[3] eq "/$mode" } @requests;
    my $stored   = $load->stored->{$mode};
    my $figures  = "$admitted admitted, $stored stored; in doubt: " . join ', ', map { "$doubt{$_} $_" } sort keys %doubt;
    cmp_ok $stored, '>=', $admitted - $doubt{charges} - $doubt{reservations} - $lost, "$mode: nothing is missing but what is in doubt or was not replicated: $figures";
    cmp_ok $stored, '<=', $admitted + $more{$mode}, "$mode: nothing is stored twice";
}
is $nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
