# Sentinels of its own in each region, and TLS: the primary here and the replicas elsewhere are those that the region's sentinels name, and
# a failover in one region changes nothing for the count over both.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my %tls   = (tls => {%{$authority->issue('server', 'IP:127.0.0.1')}, trusted => $authority->file});
my @names = qw(eu us);
my @sets  = map { RateLimit::Sentinels->start(%tls, masters => {mymaster => {replicas => 2}}, sentinels => 3) } @names;
my $regions = join ' ', map { "region $names[$_] { sentinel " . join(' ', $sets[$_]->sentinel_addresses) . '; shard a master=mymaster; }' } 0, 1;

my @nginx = map {
    RateLimit::Nginx->start(
        http => "rate_limit_redis global { $regions here $_; ssl on; ssl_trusted_certificate @{[$authority->file]};
            check_timeout 5s; connect_timeout 5s; charge_timeout 5s; fresh off; }",
        server => 'location / { rate_limit_key $arg_k; rate_limit 10r/d window=clock store=global; rate_limit_on_error deny;
            add_header X-Outcome "$rate_limit_status $rate_limit_source" always; }'
    )
} @names;

sub ask ($region, $k) {
    my $response = $nginx[$region]->get("/x?k=$k");
    return join ' ', $response->header('X-Outcome') // $response->status, $response->header('X-RateLimit-Used') // '-';
}

# Waits until all servers of a region know what was charged to its primary.
sub known ($region, $k, $used) {
    return wait_until {
        $used * $sets[$region]->servers == eval { my $sum = 0; $sum += $_->used($k, 'default/86400c') // 0 for $sets[$region]->servers; $sum }
    } what => "$used to be known in $names[$region]";
}

for my $region (0, 1) {
    my $tries = 0;
    wait_until { ask($region, "first$region" . ++$tries) =~ /^PASSED replica/ } what => "$names[$region] to read both";
}
like ask(0, 'k'), qr/^PASSED replica /, 'a request in eu' for 1 .. 3;
known(0, 'k', 3);
is ask(1, 'k'), "PASSED replica 4", 'us knows what eu has charged';
known(1, 'k', 1);

my $old = $sets[1]->primary;
$old->kill_in_turn;
my $new = $sets[1]->wait_switched($old);
isnt $new->address, $old->address, 'us has another primary';
for my $region (0, 1) {
    my $tries = 0;
    wait_until { ask($region, "after$region" . ++$tries) =~ /^PASSED replica/ } what => "$names[$region] to read both again";
}
is ask(1, 'k'), 'PASSED replica 5', 'us reads and charges its new servers';
wait_until { ($new->used('k', 'default/86400c') // 0) == 2 } what => 'the new primary to be charged';
like ask(0, 'k'), qr/^PASSED replica \d+$/, 'eu reads them, too';
wait_until { ask(1, 'k') =~ /^REJECTED replica 10$/ && ask(0, 'k') =~ /^REJECTED replica 10$/ } what => 'both to have used it up';
is $_->count_log(qr/READONLY/), 0, "nginx has written to no replica" for @nginx;

done;
