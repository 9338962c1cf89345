# worker_shutdown_timeout cuts requests: their charges still reach a healthy primary, be the connection to it new, being made, idle or
# older than the requests; in clear text and over TLS.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $app       = RateLimit::Backend->start;

for my $protocol ('', 'TLSv1.2', 'TLSv1.3') {
    my %redis   = $protocol ? (tls => {%$server, protocols => $protocol}) : ();
    my $primary = RateLimit::Redis->start(%redis);
    my $replica = RateLimit::Redis->start(%redis, replica_of => $primary);
    my $proxy   = RateLimit::Proxy->start(to => $primary->tls_port // $primary->port);
    my $store   = redis_block('main', [$proxy, $replica],
        timeouts('9s') . ($protocol && "ssl on; ssl_trusted_certificate @{[$authority->file]};"));
    my sub charged ($name) { return $primary->used('k', "$name/3600") }

    for my $connected (qw(never before after during)) {
        $proxy->stall('answers') if $connected eq 'during';
        my $nginx = RateLimit::Nginx->with_limit("500r/h name=$connected", $store, key => 'k',
            main => 'worker_shutdown_timeout 300ms;', more => 'proxy_pass http://' . $app->address . ';');
        my $done    = 0;
        my $connect = sub {
            is $nginx->get('/now')->status, 200, 'a request that ends';
            $done = 1;
            wait_until { charged($connected) == 1 || $connected eq 'during' } what => 'its charge';
        };
        $connect->() if $connected eq 'before';
        my @cut = map { $nginx->reach($app, '/slow') } 1 .. 20;
        $connect->() if $connected =~ /^(?:after|during)$/;
        $nginx->reload;
        is_deeply [grep { !$_->at_end(9) } @cut], [], 'requests are cut';
        $proxy->flow;
        wait_until { !$nginx->old_workers } what => 'the old worker to leave';
        is charged($connected), @cut + $done, "$protocol, connected to the primary $connected: cut requests are charged";
        unlike $nginx->error_log, qr/rate limit: /, 'nothing is in doubt or lost';
        $nginx->stop;
    }
}

done;
