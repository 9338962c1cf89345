# worker_shutdown_timeout cuts requests: their charges still reach a healthy primary, be the connection to it new, idle
# or older than the requests.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $request->{uri} eq '/now' ? [200, [], 'now'] : $conn->hold('gate', [200, [], 'held']);
});
sub charged ($name) { return $shards->primary->used('k', "$name/3600") }

for my $connected (qw(never before after)) {
    my $nginx = RateLimit::Nginx->start(
        main => 'worker_shutdown_timeout 300ms;',
        http => $shards->block('main', 'check_timeout 5s; connect_timeout 5s; charge_timeout 9s;'),
        server => "location / { rate_limit_key k; rate_limit 500r/h store=main name=$connected;
            proxy_pass http://@{[$app->address]}; }",
    );
    my $done    = 0;
    my $connect = sub {
        is $nginx->get('/now')->status, 200, 'a request that ends';
        $done = 1;
        wait_until { charged($connected) == 1 } what => 'its charge';
    };
    $app->forget;
    $connect->() if $connected eq 'before';
    my @cut = map { $nginx->http } 1 .. 20;
    $_->start_request('GET', '/held') for @cut;
    wait_until { grep({ $_->[1] eq '/held' } $app->requests) == @cut } what => 'requests at the application';
    $connect->() if $connected eq 'after';
    $nginx->reload(wait_old => 1);
    is charged($connected), @cut + $done, "connected to the primary $connected: cut requests are charged";
    unlike $nginx->error_log, qr/rate limit: /, 'nothing is in doubt or lost';
    $nginx->stop;
}

done;
