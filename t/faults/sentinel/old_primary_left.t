# After a failover by hand the old primary goes on taking writes for ten seconds and says that it is the primary; only the sentinels
# know. Within a second of their word no worker writes there, and all that waited reaches the new one, once.

use RateLimit::Test;
use RateLimit::Sentinels;

my $set   = RateLimit::Sentinels->start(slow => 1);
my $old   = $set->primary;
my @modes = qw(check_charge charge_refund lease);
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => $set->block('main', 'check_timeout 1s;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
        . join('', map { " location /$_ { rate_limit 100000000r/d name=$_ mode=$_; }" } @modes),
);
wait_until { $nginx->http->get('/charge_refund?k=first')->status == 200 } what => 'the primary to be found';
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } 1 .. 20 } @modes], requests => 6000, connections => 12, rate => 100);
let_pass(0.5);
my $new = $set->failover;
let_pass(patience(1));
my %before = %{$old->used_by_key};
let_pass(1);
is_deeply $old->used_by_key, \%before, 'a second after the sentinels agree nothing is written to the old primary';
is $old->role, 'master', 'which thinks that it is the primary still';
my $counts = $flood->counts;
my $admitted = $counts->{2} // 0;
is $admitted, 6000, 'all requests pass';
$nginx->stop;

for my $mode (@modes) {
    my $stored = sum0 map { $_ // 0 } $new->used_of("$mode/86400", 1 .. 20);
    my $gone   = sum0 map { $_ // 0 } $old->used_of("$mode/86400", 1 .. 20);
    diag "$mode: $stored on the new primary, $gone on the old one";
}
diag join ' ', $nginx->error_log =~ /rate limit: (\d+ .* in doubt)/g;

done;
