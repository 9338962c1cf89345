# A refund that was not answered is sent again for five minutes, and no longer: Redis may have forgotten its number then. After that, and
# where nginx ends before, it is in doubt.

use RateLimit::Test;

for my $case ('too long', 'to the end') {
    my $redis = RateLimit::Redis->start;
    my $relay = RateLimit::FakeRedis->start(handler => holding_refunds($redis));
    my $proxy   = RateLimit::Proxy->start(to => $relay->port);
    my $backend = RateLimit::Backend->start;
    my $nginx   = RateLimit::Nginx->start(
        clock  => 1,
        http   => redis_block('main', $proxy, timeouts('9s')),
        server => 'rate_limit_store main; rate_limit_key k; rate_limit_mode charge_refund; rate_limit_cost 4; rate_limit_on_error deny;
            location / { rate_limit 100r/h; } location /up { rate_limit 100r/h; proxy_pass http://' . $backend->address . '; }',
    );
    my sub refunds () { return scalar grep { is_refund($_) } $relay->commands('evalsha') }

    is $nginx->get('/x')->status, 200, "$case: one passes";
    is $nginx->get('/up?status=304')->status, 304, '... one is exempt';
    wait_until { refunds() } what => 'its refund';
    $proxy->stop;
    if ($case eq 'too long') {
        $nginx->travel('+301s');
        $nginx->wait_log(qr/1 refunds for primary .* in doubt/);
        $proxy->restart;
        wait_until { $nginx->get('/x')->status == 200 } what => 'the primary';
    }
    $nginx->stop;
    is refunds(), 1, '... it was sent once';
    is $nginx->count_log(qr/1 refunds for primary .* in doubt/), 1, '... and is in doubt';
}

done;
