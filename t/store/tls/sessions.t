# Over TLS 1.2 and 1.3 all modes count as in clear text. A second connection to a server resumes the session of the first, with fewer bytes
# and without a new certificate check. After a reload there is no session left: another authority decides anew.
# Row 1 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $other     = RateLimit::Certificates->authority('other');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my @modes     = qw(check_charge charge_refund lease);

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start(tls => {%$server, protocols => $protocol}, password => 'open sesame');
    my $proxy = RateLimit::Proxy->start(to => $redis->tls_port);
    my sub http ($by) {
        return redis_block('main', $proxy,
            timeouts('9s') . "fresh off; password 'open sesame'; ssl on; ssl_trusted_certificate @{[$by->file]};");
    }
    my %server = (server => 'rate_limit_key k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 100r/h; }'
        . join '', map { "location /$_ { rate_limit 5r/h name=$_ mode=$_; }" } @modes);
    my $nginx = RateLimit::Nginx->start(http => http($authority), %server);
    my sub bytes_of_a_connection ($first = 0) {
        my $before = $first ? 0 : $proxy->relayed('answers');
        my $number = $first ? 0 : $proxy->connections;
        $proxy->drop if !$first;
        wait_until { $nginx->get('/x')->header('X-Outcome') eq 'PASSED' && $proxy->connections > $number } what => 'a connection';
        return $proxy->relayed('answers') - $before;
    }
    my $full    = bytes_of_a_connection(1);
    my $resumed = bytes_of_a_connection();
    cmp_ok $resumed, '<', $full - 200, "$protocol: $resumed bytes instead of $full";
    cmp_ok bytes_of_a_connection(), '<', $full - 200, 'and again';

    my $said = $nginx->count_log(qr/rate limit:/);    # a connection may have been dropped with a charge on its way
    for my $mode (@modes) {
        my @responses = map { $nginx->get("/$mode") } 1 .. 7;
        is_deeply [map { $_->header('X-Outcome') } @responses], [('PASSED') x 5, ('REJECTED') x 2], "$mode: exactly the limit";
    }
    wait_until { !grep { $redis->used('k', "$_/3600") != 5 } @modes } what => 'all to be stored';
    is $nginx->count_log(qr/rate limit:/), $said, 'without a word';

    $nginx->reload(http => http($other), %server, wait_old => 1);
    is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'after a reload with another authority: no store';
    $nginx->wait_log(qr/certificate verify failed/);
    $nginx->stop;
    is_deeply [map { $redis->used('k', "$_/3600") } @modes], [5, 5, 5], 'each is stored once';
}

done;
