# Nodes that listen for TLS alone, or not for TLS, where nginx asks for the other: Redis 8 and Valkey tell of them with port 0. Nobody can be
# asked for their slots; the log says why, and what to do, and not that their host names are missing.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $node = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'cluster';
    return cluster_slots([0, 8191, ['127.0.0.1', $conn->state('port')]], [8192, 16383, ['127.0.0.1', 0, 'a'], ['?', 7000, 'b']]);
});
my $tls = RateLimit::TlsProxy->start(to => $node->port, certificate => $authority->issue('node', 'IP:127.0.0.1'));
my sub logs ($port, $more, $words) {
    $node->set(port => $port);
    my $nginx = RateLimit::Nginx->start(
        http   => "rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 2s; connect_timeout 2s; $more }",
        server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/h; }',
    );
    $nginx->wait_log(qr/the cluster of "main" names 1 nodes without a port for $words\n/);
    $nginx->wait_log(qr/the cluster of "main" names 1 nodes without an address: set cluster-announce-hostname/);
    return $nginx->stop;
}
logs($node->port, '', 'clear text: set port on them, or "ssl on" here');
logs($tls->port, "ssl on; ssl_trusted_certificate @{[$authority->file]};", 'TLS: set tls-port on them');
pass('both are told, each with what to do');

done;
