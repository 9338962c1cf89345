# worker_shutdown_timeout cuts requests: over TLS, too, their charges still reach a healthy primary, be the connection to it new, in
# its handshake, idle or older than the requests.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $app       = RateLimit::Backend->start;

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my %redis   = (tls => {%$server, protocols => $protocol});
    my $primary = RateLimit::Redis->start(%redis);
    my $replica = RateLimit::Redis->start(%redis, replica_of => $primary);
    my $proxy   = RateLimit::Proxy->start(to => $primary->tls_port);
    my sub charged ($name) { return $primary->used('k', "$name/3600") }

    for my $connected (qw(never before after during)) {
        $proxy->stall('answers') if $connected eq 'during';
        my $nginx = RateLimit::Nginx->with_limit("500r/h name=$connected",
            redis_block('main', [$proxy, $replica], timeouts('9s') . "ssl on; ssl_trusted_certificate @{[$authority->file]};"), key => 'k',
            main => 'worker_shutdown_timeout 300ms;', more => 'proxy_pass http://' . $app->address . ';');
        my $done    = 0;
        my $connect = sub {
            is $nginx->get('/now')->status, 200, 'a request that ends';
            $done = 1;
            wait_until { charged($connected) == 1 } what => 'its charge';
        };
        $connect->() if $connected eq 'before';
        my @cut = map { $nginx->reach($app, '/slow') } 1 .. 20;
        $connect->() if $connected eq 'after';
        if ($connected eq 'during') {
            is $nginx->get('/now')->status, 200, 'a request whose charge waits for a handshake';
            $done = 1;
            $nginx->reload;
            is_deeply [grep { !$_->at_end(9) } @cut], [], 'requests are cut';
            $proxy->flow;
            wait_until { !$nginx->old_workers } what => 'the old worker to leave';
        } else {
            $nginx->reload(wait_old => 1);
        }
        is charged($connected), @cut + $done, "$protocol, connected to the primary $connected: cut requests are charged";
        unlike $nginx->error_log, qr/rate limit: /, 'nothing is in doubt or lost';
        $nginx->stop;
    }
}

done;
