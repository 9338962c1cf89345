# A handshake that is cut after any number of bytes, from either side, ends as a lost connection, and the next one may go on. A server that
# takes connections and closes them at once, while requests ask for it, ends no worker.
# Row 3 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my $proxy     = RateLimit::Proxy->start(to => $redis->tls_port);
my $nginx     = RateLimit::Nginx->with_limit('1000000r/h',
    redis_block('main', $proxy, timeouts('9s') . "ssl on; ssl_trusted_certificate @{[$authority->file]}; fresh off;"),
    key => 'k', more => 'add_header X-Outcome $rate_limit_status always;');
my @workers = $nginx->workers;

my sub outcome () { return $nginx->get('/x')->header('X-Outcome') }

is outcome(), 'PASSED', 'a whole handshake';
for my $direction (qw(answers questions)) {
    for my $bytes (0, 1, 5, 6, map { 50 * $_ } 1 .. 16) {    # a handshake has some hundreds of bytes from either side
        my $before = $proxy->connections;
        $proxy->cut_after($direction => $bytes);
        $proxy->drop;
        my $outcome;
        wait_until { $outcome = outcome(); $proxy->connections > $before } what => "a connection that is cut after $bytes bytes of $direction";
        is $outcome, 'ERROR_ALLOWED', "cut after $bytes bytes of $direction" if $bytes <= 200;
        $proxy->cut_after($direction => undef);
        $proxy->drop;
        wait_until { outcome() eq 'PASSED' } what => "the next, after $bytes bytes of $direction";
    }
}
for my $turn (1 .. 20) {
    $proxy->lead_to(1);    # where nobody listens
    $proxy->drop($turn % 2);
    is_deeply statuses($nginx->parallel(connections => 8, requests => 40, uri => '/x')), {200 => 40}, "turn $turn: every request is answered";
    $proxy->lead_to($redis->tls_port);
    wait_until { outcome() eq 'PASSED' } what => 'a connection';
}
is_deeply [$nginx->workers], \@workers, 'by one worker throughout';
wait_until { $redis->used('k') } what => 'charges';
is $nginx->count_log(qr/ignoring stale global SSL error/), 0, 'no error is left behind for others';

done;
