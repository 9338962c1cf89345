# A handshake that is cut after any number of bytes, from either side, ends as a lost connection, and the next one may go on.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my $proxy     = RateLimit::Proxy->start(to => $redis->tls_port);
my $nginx     = RateLimit::Nginx->with_limit('100000r/h',
    redis_block('main', $proxy, timeouts('9s') . "ssl on; ssl_trusted_certificate @{[$authority->file]}; fresh off;"),
    key => 'k', more => 'add_header X-Outcome $rate_limit_status always;');

my sub passes () { return $nginx->get('/x')->header('X-Outcome') eq 'PASSED' }

ok passes(), 'a whole handshake';
my $passed = 1;
for my $direction (qw(answers questions)) {
    for my $bytes (0, 1, 5, 6, map { 50 * $_ } 1 .. 16) {    # a handshake has some hundreds of bytes from either side
        my $before = $proxy->connections;
        $proxy->cut_after($direction => $bytes);
        $proxy->drop;
        wait_until { $nginx->get('/x'); $proxy->connections > $before } what => "a connection that is cut after $bytes bytes of $direction";
        $proxy->cut_after($direction => undef);
        $proxy->drop;
        wait_until { passes() } what => "the next, after $bytes bytes of $direction";
        $passed++;
    }
}
is $passed, 41, 'each was followed by one that served';
wait_until { $redis->used('k') } what => 'charges';
is $nginx->count_log(qr/ignoring stale global SSL error/), 0, 'no error is left behind for others';

done;
