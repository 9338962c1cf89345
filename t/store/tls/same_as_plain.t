# Over TLS 1.2 and 1.3 all modes count as in clear text, and a second connection resumes the session of the first.
# Row 1 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $tls     = {%$server, protocols => $protocol};
    my $primary = RateLimit::Redis->start(tls => $tls, password => 'open sesame');
    my $nginx   = RateLimit::Nginx->start(
        http => redis_block('main', $primary,
            timeouts('9s') . "password 'open sesame'; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
        server => join '', "rate_limit_store main; rate_limit_key k; rate_limit_exempt_status off;",
        map { "location /$_ { rate_limit 5r/h name=$_ mode=$_; add_header X-Outcome \$rate_limit_status always; }" }
            qw(check_charge charge_refund lease));
    for my $mode (qw(check_charge charge_refund lease)) {
        my @responses = map { $nginx->get("/$mode") } 1 .. 7;
        is_deeply [map { $_->header('X-Outcome') } @responses], [('PASSED') x 5, ('REJECTED') x 2], "$protocol, $mode: exactly the limit";
    }
    $nginx->stop;
    is $primary->used('k', "$_/3600"), 5, "$protocol, $_: stored" for qw(check_charge charge_refund lease);
    is $nginx->count_log(qr/rate limit:/), 0, 'without a word';
    $primary->stop;
}

done;
