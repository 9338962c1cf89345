# A record that TLS does not allow, or an answer that Redis does not give, ends the connection and nothing else: no request waits
# longer than check_timeout, no worker ends, no answer is taken for the answer to another question, nothing is charged twice, and the
# server is used again once it behaves. That holds while clients leave and nginx reloads.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my @ways      = qw(half half_reset stuck goodbye alert alert_clear clear noise large renegotiate stray garbage);

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start;
    my $proxy = RateLimit::TlsProxy->start(to => $redis->port, certificate => $server, protocol => $protocol);
    my @setup = (
        http => RateLimit::Traffic::log_format() . redis_block('main', $proxy,
            "check_timeout 500ms; connect_timeout 500ms; charge_timeout 1s; fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
        server => RateLimit::Traffic::access_log() . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_log_level info;
            location /c { rate_limit 1000000r/h name=c; } location /r { rate_limit 1000000r/h name=r mode=charge_refund; }
            location /left { access_log off; rate_limit 1000000r/h name=left mode=charge_refund; }',
    );
    my $nginx   = RateLimit::Nginx->start(workers => 2, @setup);
    my $traffic = RateLimit::Traffic->start($nginx, uris => [qw(/c /r)], keepalive => 0);
    my @keys    = RateLimit::Traffic->keys;
    my sub back ($what) {
        $proxy->set(way => '');
        wait_until {
            my $last = $traffic->mark;
            !grep { $_->{outcome} ne 'PASSED' } @{$traffic->more(40)->since($last)}
        } what => "$protocol, $what: the server to be used again";
        return;
    }

    back('healthy');
    $traffic->is_served("$protocol, healthy", timeout => 0.5);
    for my $way (@ways) {
        next if $way eq 'renegotiate' && $protocol eq 'TLSv1.3';    # which has none
        my $before = $proxy->connections;
        $proxy->set(way => $way);
        $proxy->drop if $way eq 'garbage';
        $_->abort for map { $nginx->begin('/left', 'X-Key' => 'k') } 1 .. 10;
        wait_until { $proxy->connections > $before } what => "$protocol, $way: the end of a connection";
        $nginx->reload if $way =~ /^(?:half|stuck|noise|garbage)$/;
        $traffic->more(30);
        back($way);
        $traffic->is_served("$protocol, $way", timeout => 0.5);
    }
    $traffic->stop;
    is $traffic->unanswered, 0, 'every request got a response';
    wait_until { !$nginx->old_workers } what => 'old workers to leave';
    $nginx->stop;
    my %admitted;
    $admitted{$_->{uri}}++ for grep { $_->{status} == 200 } @{$traffic->since(0)};
    my ($charged, $reserved) = map { sum0($redis->used_of("$_/3600", @keys)) } qw(c r);
    my %doubt = (charges => 0, refunds => 0, reservations => 0);
    my $log = $nginx->error_log;
    $doubt{$2} += $1 while $log =~ /rate limit: (\d+) (charges|refunds|reservations) for \S+ \S+ of "main" were sent and not answered/g;
    my $missing = sum0(values %doubt);
    diag "charged $charged of $admitted{'/c'}, reserved $reserved for $admitted{'/r'}, in doubt $missing";
    cmp_ok $charged, '<=', $admitted{'/c'}, 'nothing is charged twice';
    cmp_ok $charged, '>=', $admitted{'/c'} - $missing, 'what is missing is in doubt';
    cmp_ok $reserved, '<=', $admitted{'/r'} + $doubt{reservations} + $doubt{refunds}, 'no more is reserved than was admitted, but for what is in doubt';
    cmp_ok $reserved, '>=', $admitted{'/r'} - $missing, 'nor less';
    is $nginx->count_log(qr/exited on signal|ignoring stale global SSL error/), 0, 'no worker ends, no error is left behind for others';
}

done;
