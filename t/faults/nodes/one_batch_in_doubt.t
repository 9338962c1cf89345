# Whatever happens to a primary at 10,000 charges a second, each time at most one batch of charges a worker is in doubt: its
# connection is cut, with and without answers under way, it freezes, it restarts. What is stored is never more than what was
# admitted, and less only by what is in doubt. CUTS says how often it happens.
# nightly

use RateLimit::Test;

use constant {RATE => 10_000, CONNECTIONS => 16, KEYS => 2000, SECONDS_A_CUT => 0.5};

my $cuts    = $ENV{CUTS} // 16;
my $primary = RateLimit::Redis->start(appendonly => 1, args => ['--appendfsync', 'no']);    # a slow disk would make long batches
my $replica = RateLimit::Redis->start(replica_of => $primary);
my $proxy   = RateLimit::Proxy->start(to => $primary->port);
my $nginx   = RateLimit::Nginx->start(
    workers => 2, log_level => 'error', http => redis_block('main', [$proxy, $replica], 'check_timeout 1s;'),
    server => 'keepalive_requests 1000000000; location /x { rate_limit_key $arg_k; rate_limit 100000000r/d store=main; }
        location /limits/ { rate_limit_console view; }');
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { "/x?k=$_" } 1 .. KEYS], requests => int(RATE * (1 + $cuts * SECONDS_A_CUT)),
    connections => CONNECTIONS, rate => RATE / CONNECTIONS);
let_pass(0.5);

my %happens = (
    cut    => sub { $proxy->drop(1) },
    stall  => sub { $proxy->stall('answers'); let_pass(0.02); $proxy->drop(1); $proxy->flow },
    freeze => sub { $primary->freeze; let_pass(0.75); $proxy->drop(1); $primary->thaw },
    stop   => sub { $primary->restart },
);
my @kinds = sort keys %happens;
for my $nth (1 .. $cuts) {
    my $end = monotonic() + SECONDS_A_CUT;
    $happens{$kinds[$nth % @kinds]}->();
    let_pass($end - monotonic()) if monotonic() < $end;
}
my $admitted = $flood->counts->{2};
wait_until { $nginx->http->get('/x?k=1'); ++$admitted; $primary->cmd('PING') eq 'PONG' } what => 'the primary';

# A worker whose connection is not back yet has charges that wait. What is in doubt may be stored, too, so that the sum of both says nothing of them.
sub doubts () { return sum0 $nginx->error_log =~ /rate limit: (\d+) charges for \S+ \S+ of "main" were sent and not answered/g }
sub stored () { return sum0 map { $_ // 0 } $primary->used_of('default/86400', 1 .. KEYS) }
wait_until { $nginx->waiting == 0 && stored() + doubts() >= $admitted } what => 'what waits to be stored';
$nginx->stop;

my ($stored, $doubt) = (stored(), doubts());
cmp_ok $stored, '<=', $admitted, "of $admitted admitted $stored are stored";
cmp_ok $stored, '>=', $admitted - $doubt, "the others are in doubt: $doubt";
is $nginx->count_log(qr/were dropped|are lost/), 0, 'none is lost in another way';
# A worker's charges of 2 ms are ten; a busy machine gathers those of some 50 ms, and one that is slowed by a sanitizer more. Without batches
# all charges of each time that it is frozen would be in doubt: 1,900 a cut.
cmp_ok $doubt / $cuts, '<', patience(900), sprintf '%.1f charges a cut', $doubt / $cuts;
diag sprintf '%d cuts of %d charges: %d in doubt, %d missing', $cuts, $admitted, $doubt, $admitted - $stored;

done;
