# A server takes a new certificate while requests go on: connections that are open stay, and each new one is made if the new
# certificate fits. One that does not fit is noticed with the next connection, though there is a session of the one before, and
# mended without a reload.
# Row 5 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my @fitting   = map { $authority->issue("server-$_", 'IP:127.0.0.1') } 1 .. 2;
my $stranger  = RateLimit::Certificates->authority('other')->issue('stranger', 'IP:127.0.0.1');
my $elsewhere = $authority->issue('elsewhere', 'DNS:elsewhere.test');

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start(tls => {%{$fitting[0]}, protocols => $protocol});
    my $nginx = RateLimit::Traffic->nginx(workers => 2, reuseport => 1, http => redis_block('main', $redis,
        timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]};"));
    my $traffic = RateLimit::Traffic->start($nginx);
    my sub install ($certificate) {
        $redis->cmd('CONFIG', 'SET', 'tls-cert-file', $certificate->{certificate}, 'tls-key-file', $certificate->{key});
        return;
    }
    my sub connections () { return $redis->info('stats')->{total_connections_received} }
    my sub served ($what) { return $traffic->more(100)->is_served("$protocol, $what", timeout => 9, passes => 1) }

    served('the first certificate');
    my $made = connections();
    install($fitting[1]);
    served('another is installed');
    is connections(), $made, 'without a new connection';
    $redis->drop_clients;
    served('new connections');
    cmp_ok connections(), '>', $made, 'are made';

    for my $unfit ([$stranger, qr/certificate verify failed: .*; name its authority in "ssl_trusted_certificate"/], [$elsewhere, qr/IP address mismatch/]) {
        my ($certificate, $words) = @$unfit;
        install($certificate);
        served('one that does not fit is installed');
        $redis->drop_clients;
        $nginx->wait_log(qr{is down.*$words});
        $traffic->more(20);
        install($fitting[0]);
        wait_until {
            my $last = $traffic->mark;
            !grep { $_->{outcome} ne 'PASSED' } @{$traffic->more(50)->since($last)}
        } what => 'the one that fits to be believed';
        $traffic->is_served("$protocol, one that fits again", timeout => 9);
    }
    $traffic->stop;
    is $traffic->unanswered, 0, 'every request got a response';
    $nginx->stop;
}

done;
