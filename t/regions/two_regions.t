# Two regions that write at home, each with an nginx of its own. A replica of the other region stands near, and gets what is written there
# by a replication that takes its time. All of it over TLS.

use RateLimit::Test;
use RateLimit::Proxy;

my @names     = qw(eu us);
my $authority = RateLimit::Certificates->authority('ours');
my %tls       = (tls => {%{$authority->issue('server', 'IP:127.0.0.1')}, trusted => $authority->file});
my $ssl       = "ssl on; ssl_trusted_certificate @{[$authority->file]};";
my @primaries = map { RateLimit::Redis->start(%tls) } @names;
my @ways      = map { RateLimit::Proxy->start(to => $_->tls_port, distance => 0.02) } @primaries;    # to the other region
my @replicas  = map { RateLimit::Redis->start(%tls, args => ['--tls-replication', 'yes', '--replicaof', '127.0.0.1', $ways[$_]->port], wait => 0) } 0, 1;
my @doors     = map { RateLimit::Proxy->start(to => $_->tls_port) } @replicas;
$_->wait_ready for @replicas;
wait_until { 2 == grep { ($_->info('replication')->{master_link_status} // '') eq 'up' } @replicas } what => 'both replicas to follow';

my @nginx = map {
    my $other = 1 - $_;
    RateLimit::Nginx->start(
        http => "rate_limit_redis global { region $names[$_] { shard a primary=" . $primaries[$_]->address . "; }
            region $names[$other] { shard a replica=" . $doors[$other]->address . "; }
            here $names[$_]; check_timeout 2s; fresh off; $ssl }",
        server => 'location /limits/ { rate_limit_console view; }
            location = /where { rate_limit_report; rate_limit_key $arg_k; rate_limit 10r/d window=clock store=global; }
            location / { rate_limit_key $arg_k; rate_limit 10r/d window=clock store=global;
                add_header X-Outcome "$rate_limit_status $rate_limit_source" always; }'
    );
} 0, 1;

sub ask ($region, $k) {
    my $response = $nginx[$region]->get("/x?k=$k");
    return join ' ', $response->header('X-Outcome'), $response->header('X-RateLimit-Used');
}

# Waits until this region knows what was charged in the other one.
sub knows ($region, $k, $used) {
    wait_until { ($replicas[1 - $region]->used($k, 'default/86400c') // 0) == $used } what => 'the charges to arrive';
    return;
}

like ask(0, 'k'), qr/^PASSED replica /, 'a request in eu' for 1 .. 4;
wait_until { $primaries[0]->used('k', 'default/86400c') == 4 } what => 'the charges';
knows(1, 'k', 4);
is ask(1, 'k'), 'PASSED replica 5', 'us knows them';
is ask(1, 'k'), "PASSED replica $_", '... and adds its own' for 6 .. 10;
knows(0, 'k', 6);
is ask(0, 'k'), 'REJECTED replica 10', 'all regions together have used it up, so eu rejects';
is $nginx[0]->get('/x?k=k')->header('X-RateLimit-Remaining'), 0, '... with nothing remaining';
is $primaries[0]->used('k', 'default/86400c'), 4, 'each region has charged its own';
is $primaries[1]->used('k', 'default/86400c'), 6, '... primary';
is $_->count_log(qr/READONLY/), 0, "nginx has written to no replica" for @nginx;

like ask(1, 'reported'), qr/^PASSED/, 'a request in us' for 1 .. 3;
wait_until { $primaries[1]->used('reported', 'default/86400c') == 3 } what => 'its charges';
knows(0, 'reported', 3);
like $nginx[0]->get('/where?k=reported')->body, qr/"used":3,"remaining":7/, 'a report in eu, which has never asked for that key, knows of them';

$doors[1]->stop;
wait_until { ask(0, 'other') =~ /^PASSED memory / } what => 'us to be remembered';
pass 'us is cut off: what was last read of it counts';
like ask(0, 'k'), qr/^REJECTED memory 10$/, '... so what is used up stays so';
ok $nginx[0]->get('/limits/metrics')->body =~ /^nginx_rate_limit_region_remembered_total\{store="global",shard="a",region="us"\} ([1-9]\d*)$/m,
    '... and metrics count it';
$nginx[0]->wait_log(qr/region "us" of "global", shard "a", does not answer, and counts as it was last read/);
$nginx[0]->wait_log(qr/replica .* of shard "a" of "global\/us" is down/);
$doors[1]->restart;
wait_until { ask(0, 'again') =~ /^PASSED replica / } what => 'us to be read again';
$nginx[0]->wait_log(qr/region "us" of "global", shard "a", answers again/);

# A replica that follows the primary here, and a primary in a replica's place.
sub start_with ($us) {
    return RateLimit::Nginx->start(
        http => "rate_limit_redis global { region eu { shard a primary=" . $primaries[0]->address . "; }
            region us { shard a replica=" . $us->address . "; } here eu; check_timeout 2s; fresh off; $ssl }",
        server => 'location / { rate_limit_key $arg_k; rate_limit 10r/d window=clock store=global; }'
    );
}
my $wrong = start_with($replicas[0]);
my $address = quotemeta $primaries[0]->address;
wait_until { $wrong->count_log(qr/replica .* of shard "a" of "global\/us" is down: what it counts is counted in another region, too.* \(by primary $address /) }
    what => 'the line that says which servers have the same data';
is $wrong->get('/x?k=k')->header('X-RateLimit-Used'), 5, '... nor counted twice';
my $primary = start_with($primaries[1]);
is $primary->get('/x?k=k')->header('X-RateLimit-Used'), 11, 'a primary is read';
is $primary->count_log(qr/replica .* of shard "a" of "global\/us" is a primary: .*name a replica of it/), 1, '... and the log says so';

done;
