# All workers are connected again within 3 s, each by one handshake, where a server drops their connections or restarts: no worker
# is given up because others wait for their handshakes.
# Row 33 of the fault matrix.

use RateLimit::Test;
use List::Util qw(min);

use constant {MACHINES => 2, WORKERS => 16};

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my $count     = MACHINES * WORKERS;
my @machines  = map { RateLimit::Nginx->start(
    workers => WORKERS,
    http    => "rate_limit_redis main { shard a primary=@{[$redis->address]}; check_timeout 9s; connect_timeout 9s; fresh off;
        ssl on; ssl_trusted_certificate @{[$authority->file]}; }
        server { listen 127.0.0.1:%%PORT%% reuseport; rate_limit_key k; rate_limit 100000000r/h store=main; rate_limit_log_level info;
            add_header X-Worker \$pid always; location / { } }",
) } 1 .. MACHINES;

# Some requests for each machine; whoever gets one connects.
my sub ask () { return map { $_->parallel(connections => 4 * WORKERS, requests => 4 * WORKERS, keepalive => 0, uri => '/x') } @machines }
my sub connected () { return scalar grep { /laddr=\S+:@{[$redis->tls_port]} / } split /\n/, $redis->cmd('CLIENT', 'LIST', 'TYPE', 'normal') }
my sub made () { return $redis->info('stats')->{total_connections_received} }

my %workers;
wait_until { $workers{$_->header('X-Worker')} = 1 for ask(); keys %workers == $count } what => 'every worker to have served';
wait_until { connected() == $count } what => 'their connections';

my sub all_back ($what, $before) {
    my $begun = monotonic();
    wait_until { ask(); connected() == $count } what => "connections of all workers, $what";
    my $took = monotonic() - $begun;
    wait_until { made() - $before >= $count } what => 'their handshakes, which the server counts at their end';
    is made() - $before, $count, "$what: one handshake each";
    return $took;
}
my @took = map {
    my $before = made();
    $redis->drop_clients;
    all_back("dropped, $_", $before)
} 1 .. 3;
# A busy machine delays some rounds.
cmp_ok min(@took), '<', patience(3), sprintf 'dropped: %d workers are connected again after %.2f s', $count, min(@took);
my $away = monotonic();
$redis->kill;
wait_until { ask(); !grep { !$_->count_log(qr/is down/) } @machines } what => 'the outage to be noticed';
$redis->launch;
wait_until { eval { $redis->cmd('PING') } } what => 'the server';
$away = monotonic() - $away;
my $took = all_back('restarted', 1);    # the test's own came first
# A worker tries again after no more than twice the time that the server was away.
cmp_ok $took, '<', patience(3) + 2 * $away, sprintf 'restarted: they are connected again after %.2f s', $took;
$_->stop for @machines;
is sum0(map { $_->count_log(qr/TLS handshake took longer/) } @machines), 0, 'no handshake was given up';
unlike $redis->log, qr/Error accepting a client connection/, 'the server saw none fail';

done;
