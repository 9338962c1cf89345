# Records that TLS allows are taken, however odd: a record for each byte of an answer, records in pieces, hundreds of sessions, a
# certificate of many names that fills 64 KB. Nothing is lost, and one connection lasts.

use RateLimit::Test;

use constant {NAMES => 2000};

my $authority = RateLimit::Certificates->authority('ours');
my $large     = $authority->issue('large', join(',', 'IP:127.0.0.1', map { sprintf 'DNS:%s%d.example.test', 'x' x 20, $_ } 1 .. NAMES));
cmp_ok -s $large->{certificate}, '>', 64 * 1024, 'a large certificate';

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start;
    my $proxy = RateLimit::TlsProxy->start(to => $redis->port, certificate => $large, protocol => $protocol, tickets => 200);
    my $nginx = RateLimit::Nginx->start(
        http => redis_block('main', $proxy, timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
        server => 'rate_limit_store main; rate_limit_key $http_x_key; add_header X-Outcome $rate_limit_status always;'
            . join('', map { "location /$_ { rate_limit 10000r/h name=$_ mode=$_; }" } qw(check_charge charge_refund lease)),
    );
    my $passed = 0;
    for my $way ('', 'bytes', 'late') {
        $proxy->set(way => $way);
        for my $uri (qw(/check_charge /charge_refund /lease)) {
            my %outcomes;
            $outcomes{$_->header('X-Outcome')}++ for $nginx->parallel(connections => 10, requests => 40, uri => $uri, headers => ['X-Key' => "k$way"]);
            is_deeply \%outcomes, {PASSED => 40}, "$protocol, $uri: answers leave " . ($way || 'whole');
        }
    }
    is $proxy->connections, 1, 'by one connection';
    $nginx->stop;
    for my $mode (qw(check_charge charge_refund lease)) {
        is_deeply [map { $redis->used("k$_", "$mode/3600") } '', 'bytes', 'late'], [40, 40, 40], "$mode: all is charged";
    }
    is $nginx->count_log(qr/rate limit:/), 0, 'without a word';
}

done;
