# The module shows ssl_certificate where a server asks its clients for a certificate. Without one the log says so, in OpenSSL's
# words.
# Row 2 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my %shown     = (
    ours     => $authority->issue('client', 'DNS:nginx.test'),
    none     => undef,
    stranger => RateLimit::Certificates->authority('other')->issue('stranger', 'DNS:nginx.test'),
);
my sub block ($name, $redis) {
    my $client = $shown{$name};
    return redis_block($name, $redis, timeouts('9s') . "ssl on; ssl_trusted_certificate @{[$authority->file]};"
        . ($client ? "ssl_certificate $client->{certificate}; ssl_certificate_key $client->{key};" : ''));
}

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start(tls => {%$server, authority => $authority->file, protocols => $protocol});
    my $nginx = RateLimit::Nginx->start(
        http   => join('', map { block($_, $redis) } sort keys %shown),
        server => 'rate_limit_key k; rate_limit_store $arg_s; add_header X-Outcome $rate_limit_status always; location / { rate_limit 100r/h; }');
    my %words = (none => $protocol eq 'TLSv1.3' ? 'certificate required' : 'handshake failure', stranger => 'unknown ca|certificate unknown|bad certificate');
    is $nginx->get('/x?s=ours')->header('X-Outcome'), 'PASSED', "$protocol: with a certificate";
    for my $name (sort keys %words) {
        is $nginx->get("/x?s=$name")->header('X-Outcome'), 'ERROR_ALLOWED', "the certificate shown: $name";
        $nginx->wait_log(qr/\[error\].*of "$name" is down: .*(?:$words{$name})/);
    }
    $nginx->stop;
    is $redis->used('k'), 1, 'one is charged';
}

done;
