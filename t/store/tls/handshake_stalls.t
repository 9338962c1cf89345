# connect_timeout ends a handshake that does not go on: with a server that speaks no TLS, one whose answers stay away, and one
# that is frozen. The log tells it from a connection that is not made, and the server is used soon after it goes on.

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
my sub comes_back ($nginx, $what) {
    return wait_until { $nginx->get('/x')->header('X-Outcome') eq 'PASSED' } what => $what;
}

my $nginx = start($redis->{host} . ':' . $redis->port);
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'a port without TLS';
$nginx->wait_log(qr/is down: (?:the TLS handshake took longer|SSL_do_handshake\(\) failed|peer closed connection in SSL handshake)/);
$nginx->stop;

$proxy->stall('answers');
$nginx = start($proxy);
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'no answers';
$nginx->wait_log($late);
$proxy->flow;
comes_back($nginx, 'the server whose answers flow again');
$nginx->stop;

$redis->freeze;
$nginx = start($redis);
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'a frozen server';
$nginx->wait_log($late);
$redis->thaw;
comes_back($nginx, 'the server that is thawed');
$nginx->stop;

# Without a word about it the limit is a second, of which a handshake takes a part.
$proxy->stall('answers');
$nginx = start($proxy, "check_timeout 9s; ssl on; ssl_trusted_certificate @{[$authority->file]};");
my $begun = monotonic();
$nginx->get('/x');
cmp_ok monotonic() - $begun, '>=', 0.99, 'connect_timeout is a second with TLS';
$nginx->stop;

done;
