# charge_refund with the local store, and lease which is the same there: the cost is charged before the request, if it
# fits; at the end an exempt status gives it back, and another cost settles it.

use RateLimit::Test;

my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_key $http_x_key; log_format end "$status $uri $http_x_key";
        map $upstream_http_x_cost $guess { "" 10; default $upstream_http_x_cost; }',
    server => 'access_log %%DIR%%/ends end;' . join '', map { sprintf '
        location /%1$s/ { alias %%%%DIR%%%%/html/; rate_limit 10r/h name=%1$s mode=%1$s cost=$http_x_cost; }
        location /%1$s/up { rate_limit 20r/h name=%1$s-up mode=%1$s cost=$upstream_http_x_cost;
            proxy_pass http://%2$s; }
        location /%1$s/guess { rate_limit 20r/h name=%1$s-up mode=%1$s cost=$guess; proxy_pass http://%2$s; }
        location /%1$s/two/ { alias %%%%DIR%%%%/html/; rate_limit_mode %1$s; rate_limit 9r/h name=%1$s-a cost=5;
            rate_limit 9r/h name=%1$s-b cost=$http_x_cost; }',
        $_, $backend->address } qw(charge_refund lease),
);
my $mode;

sub ask ($uri, $key, @more) { return $nginx->get("/$mode/$uri", 'X-Key' => $key, @more) }

sub seen ($uri, $key, @more) {
    my $response = ask($uri, $key, @more);
    return [$response->status, limits($response)->{used}];
}

# Returns what is used. The request that looks is exempt, so its own cost is left out.
sub shown ($key) { return limits(ask('up?status=304', $key))->{used} }

sub slow ($uri, $key) { return $nginx->reach($backend, "/$mode/$uri", 'X-Key' => $key) }

for (qw(charge_refund lease)) {
    $mode = $_;
    is_deeply [map { seen('x', 'fits', 'X-Cost' => $_) } 6, 5, 4, 1, 0],
        [[200, 6], [429, 6], [200, 10], [429, 10], [200, 10]],
        "$mode: a request is admitted if its cost fits";
    shows ask('x', 'much', 'X-Cost' => 11), 429, {used => 0, remaining => 10, retry_after => undef},
        'never if it is above the limit, and no wait helps';
    is_deeply seen('x', 'much', 'X-Cost' => 10), [200, 10], 'which takes nothing';

    is_deeply [map { seen('x', 'exempt', @$_) } ['If-None-Match' => '*'], [], ['If-None-Match' => '*'], []],
        [[304, 0], [200, 1], [304, 1], [200, 2]], 'an exempt status gives it back';
    is_deeply [map { seen("up?status=$_", 'errors') } 500, 404, 304, 502], [[500, 1], [404, 2], [304, 2], [502, 3]],
        'no other does';

    is_deeply seen('up?cost=5', 'settled'), [200, 1], 'the upstream names the cost: the client is told of the first';
    is shown('settled'), 5, 'more than the first';
    for (['guess?cost=2', 7, 'or less'], ['guess?cost=0', 7, 'or nothing'], ['up?cost=x', 8, 'what is no cost is 1']) {
        ask($_->[0], 'settled');
        is shown('settled'), $_->[1], $_->[2];
    }
    is_deeply [map { seen('guess?cost=12', 'settled') } 1, 2], [[200, 18], [429, 20]], 'it may reach the limit';
    is_deeply [map { seen('up?cost=50', 'over') } 1, 2], [[200, 1], [429, 50]], 'and pass it';
    my $none = ask('guess?cost=0', 'none');
    is_deeply [limits($none)->{used}, shown('none')], [10, 0], 'what was all given back';
    is ask('guess?status=304&cost=7', 'none')->status, 304, 'an exempt status';
    is shown('none'), 0, 'gives all of it back, whatever it cost';

    my $http = slow('guess/slow?cost=3', 'way');
    is shown('way'), 10, 'a request under way counts with its first cost';
    $backend->release('gate');
    is $http->response->status, 200, 'then it ends';
    $nginx->wait_line('ends', "200 /$mode/guess/slow way");
    is shown('way'), 3, 'and with what it cost';
    $nginx->abandon(slow('guess/slow?cost=3', 'gone'), 'ends', "499 /$mode/guess/slow gone");
    is shown('gone'), 10, 'a client that leaves stays charged';

    is_deeply [map { ask('two/x', 'two', 'X-Cost' => $_)->status } 10, 4], [429, 200], 'the second limit rejects';
    is limits(ask('two/x', 'two', 'X-Cost' => 1))->{resource}, "$mode-a", 'then the first';
    is limits(ask('two/x', 'two', 'X-Cost' => 1))->{used}, 5, 'which was charged once';
    $backend->release('gate');
}

done;
