# The module shows ssl_certificate where a server asks its clients for a certificate. Without one the log says so, in OpenSSL's
# words.
# Row 2 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $client    = $authority->issue('client', 'DNS:nginx.test');
my $stranger  = RateLimit::Certificates->authority('other')->issue('stranger', 'DNS:nginx.test');

my sub lines ($shown) {
    return timeouts('9s') . "ssl on; ssl_trusted_certificate @{[$authority->file]};"
        . ($shown ? "ssl_certificate $shown->{certificate}; ssl_certificate_key $shown->{key};" : '');
}

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start(tls => {%$server, authority => $authority->file, protocols => $protocol});
    my sub start ($shown) {
        return RateLimit::Nginx->with_limit('100r/h', redis_block('main', $redis, lines($shown)),
            key => 'k', more => 'add_header X-Outcome $rate_limit_status always;');
    }
    my $nginx = start($client);
    is $nginx->get('/x')->header('X-Outcome'), 'PASSED', "$protocol: with a certificate";
    $nginx->stop;
    is $redis->used('k'), 1, 'and charged';

    $nginx = start(undef);
    is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'without one';
    $nginx->wait_log($protocol eq 'TLSv1.3' ? qr/\[error\].*is down: .*certificate required/ : qr/\[error\].*is down: .*handshake failure/);
    $nginx->stop;

    $nginx = start($stranger);
    is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'with one of another authority';
    $nginx->wait_log(qr/\[error\].*is down: .*(?:unknown ca|certificate unknown|bad certificate)/);
    $nginx->stop;
    is $redis->used('k'), 1, 'nothing more was charged';
}

done;
