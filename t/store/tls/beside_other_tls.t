# Failed handshakes of others in one worker, and our own, leave nothing in OpenSSL's queue: browsers that fail do no harm to a
# connection to Redis, nor the other way round.
# Row 7 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $redis     = RateLimit::Redis->start(tls => $server);
my $stranger  = RateLimit::Redis->start(tls => RateLimit::Certificates->authority('other')->issue('stranger', 'IP:127.0.0.1'));
my $lines     = timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]};";
my $nginx     = RateLimit::Nginx->start(
    http => redis_block('main', $redis, $lines) . redis_block('bad', $stranger, $lines) . "
        server { listen 127.0.0.1:%%PORT_1%% ssl; ssl_certificate $server->{certificate}; ssl_certificate_key $server->{key}; }",
    server => 'add_header X-Outcome $rate_limit_status always; rate_limit_key k;
        location /good { rate_limit 100000r/h store=main; } location /bad { rate_limit 100000r/h store=bad; }',
);
my sub fail_a_handshake ($bytes) {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $nginx->port(1)) or die $@;
    print {$socket} $bytes;
    $socket->shutdown(1);
    return () = <$socket>;
}

my sub connections () { return $redis->info('stats')->{total_connections_received} }

is $nginx->get('/good')->header('X-Outcome'), 'PASSED', 'a connection to Redis';
my $before = connections();
my %outcomes;
for my $turn (1 .. 100) {
    fail_a_handshake($turn % 2 ? "GET / HTTP/1.0\r\n\r\n" : "\x16\x03\x01\x00\x05hello");
    $outcomes{$nginx->get('/good')->header('X-Outcome')}++;
    $outcomes{$nginx->get('/bad')->header('X-Outcome')}++;
}
is_deeply \%outcomes, {PASSED => 100, ERROR_ALLOWED => 100}, 'it goes on, beside failures of both kinds';
is connections(), $before, 'it is one connection throughout';
$nginx->stop;
is $nginx->count_log(qr/ignoring stale global SSL error/), 0, 'no error is left behind for others';
is $nginx->count_log(qr/primary .* of "main"/), 0, 'no word about it';

done;
