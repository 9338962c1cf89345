# connect_timeout ends a handshake that does not go on: with a server that speaks no TLS, one whose answers stay away, and one
# that is frozen. The log tells it from a connection that is not made, and the server is used soon after it goes on.
# Row 3 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my $proxy     = RateLimit::Proxy->start(to => $redis->tls_port);
my $ssl       = "check_timeout 9s; connect_timeout 1s; ssl on; ssl_trusted_certificate @{[$authority->file]};";
my $late      = qr/is down: the TLS handshake took longer than connect_timeout/;

my sub start ($node, $lines = $ssl) {
    return RateLimit::Nginx->with_limit('100r/h', redis_block('main', $node, $lines),
        key => 'k', more => 'add_header X-Outcome $rate_limit_status always;');
}

my $nginx = start($redis->{host} . ':' . $redis->port);
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'a port without TLS';
$nginx->wait_log(qr/is down: (?:the TLS handshake took longer|SSL_do_handshake\(\) failed|peer closed connection in SSL handshake)/);
$nginx->stop;

my @stalls = (
    ['no answers', $proxy, sub () { $proxy->stall('answers') }, sub () { $proxy->flow }],
    ['a frozen server', $redis, sub () { $redis->freeze }, sub () { $redis->thaw }],
);
for (@stalls) {
    my ($what, $node, $stop, $go_on) = @$_;
    $stop->();
    $nginx = start($node);
    is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', $what;
    $nginx->wait_log($late);
    $go_on->();
    wait_until { $nginx->get('/x')->header('X-Outcome') eq 'PASSED' } what => "the server that goes on after $what";
    $nginx->stop;
}

# Without a word about it the limit is a second, of which a handshake takes a part.
$proxy->stall('answers');
$nginx = start($proxy, "check_timeout 9s; ssl on; ssl_trusted_certificate @{[$authority->file]};");
my $begun = monotonic();
$nginx->get('/x');
cmp_ok monotonic() - $begun, '>=', 0.99, 'connect_timeout is a second with TLS';
$nginx->stop;

done;
