# However many operators give back at the same time, each unit comes back exactly once, also while clients are charged; what is used is never below 0, and
# never more than was admitted.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => $shards->block('main') . 'rate_limit_key $http_x_key; keepalive_requests 100000;',
    server  => 'location /limits/ { rate_limit_console manage; } location /refund { rate_limit 100000r/h name=refund store=main mode=charge_refund; }
        location /check { rate_limit 100000r/h name=check store=main; } location /mine { rate_limit 100000r/h name=mine mode=charge_refund; }',
);
my @type = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub used ($limit) {
    my $shown = $nginx->act("key=a&limit=$limit")->json;
    return $shown->{windows}[0]{used};
}
my sub together ($connections, $each, $request) {
    my @clients = map { $nginx->http } 1 .. $connections;
    my %statuses;
    for my $round (1 .. $each) {
        $_->start_request(@$request) for @clients;
        $statuses{$_->response(method => $request->[0])->status}++ for @clients;
    }
    $_->close for @clients;
    return \%statuses;
}
for my $limit (qw(refund mine check)) {
    is_deeply together(20, 60, ['GET', "/$limit", ['X-Key' => 'a']]), {200 => 1200}, "$limit: requests";
    wait_until { used($limit) == 1200 } what => 'their charges';
    is_deeply together(20, 50, ['POST', '/limits/key', \@type, "do=add&key=a&limit=$limit&cost=1"]), {200 => 1000}, 'a thousand times one is given back';
    is used($limit), 200, '... and that is what is there';
    is_deeply together(20, 1, ['POST', '/limits/key', \@type, "do=add&key=a&limit=$limit&cost=30"]), {200 => 20}, 'more than there is';
    is used($limit), 0, '... leaves 0';

    my $pid = fork // die $!;
    if (!$pid) {
        together(5, 60, ['POST', '/limits/key', \@type, "do=reset&key=a&limit=$limit"]);
        POSIX::_exit(0);
    }
    my $passed = together(10, 60, ['GET', "/$limit", ['X-Key' => 'a']]);
    waitpid $pid, 0;
    is_deeply $passed, {200 => 600}, 'requests among resets';
    $nginx->act("do=reset&key=a&limit=$limit");
    my $admitted = 50;
    together(10, 5, ['GET', "/$limit", ['X-Key' => 'a']]);
    wait_until { used($limit) == $admitted } what => 'what is used to be what was admitted since' if $limit ne 'check';
    if ($limit ne 'mine') {
        my $stored = $shards->used("rl:$limit/3600:a");
        my $most   = $limit eq 'check' ? 600 + $admitted : $admitted;    # some charges came after the last reset
        ok $stored >= 0 && $stored <= $most, 'Redis has never less than 0, nor more than was admitted' or diag $stored;
    }
}

done;
