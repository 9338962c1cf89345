# Windows of the local store end: window=first a period after its first charged request, which an exempt one
# is not; window=clock with the period of the UTC clock. A request is charged to the window that is open when
# it ends.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, [], 'slow']) });
my $nginx   = RateLimit::Nginx->start(
    clock  => 1,
    http   => 'rate_limit_key $http_x_key; log_format end "$status $http_x_key";',
    server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 2r/h name=first; }
        location /clock/ { alias %%DIR%%/html/; rate_limit 2r/h name=clock window=clock; }
        location /day/ { alias %%DIR%%/html/; rate_limit 2r/d name=clock window=clock; }
        location /refund/ { alias %%DIR%%/html/; rate_limit 2r/h name=refund mode=charge_refund; }
        location /slow { rate_limit 2r/h name=first; proxy_pass http://' . $backend->address . '; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }

# Goes to that time, and takes one request as proof.
sub at ($time) {
    $nginx->travel('+' . ($time - time));
    return wait_until { abs(limits(ask('/x', 'clock ' . rand))->{reset} - $time - 3600) < 100 } what => 'the time';
}

sub seen ($uri, $key, @more) {
    my $response = ask($uri, $key, @more);
    return [$response->status, limits($response)->{used}];
}

my @same = ('If-None-Match' => '*');
my $hour = 86_400 * ceil(time / 86_400) + 36_000;    # far from midnight
my $half = $hour + 1800;
at($half);
my @clock = map { ask('/clock/x', 'a') } 1 .. 3;
is_deeply [map { $_->status } @clock], [200, 200, 429], 'two an hour';
is_deeply [map { limits($_)->{reset} } @clock], [($hour + 3600) x 3], 'until the hour ends';
ok about(limits($clock[2])->{retry_after}, 1800, 100), 'Retry-After is what is left';
is limits(ask('/day/x', 'a'))->{reset} % 86_400, 0, 'a day ends at midnight';
is_deeply [map { seen('/x', 'a') } 1 .. 3], [[200, 1], [200, 2], [429, 2]], 'two in a period';
my $reset = limits(ask('/x', 'a'))->{reset};
ok about($reset, $half + 3600, 100), 'which begins with the first';
is_deeply [map { seen($_, 'free', @same) } '/x', '/refund/x'], [[304, 0], [304, 0]], 'exempt responses';
my $slow = $nginx->reach($backend, '/slow', 'X-Key' => 'slow');

at($hour + 3660);
is_deeply seen('/clock/x', 'a'), [200, 1], 'the next hour counts anew';
is limits(ask('/clock/x', 'a'))->{reset}, $hour + 7200, 'until its end';
is_deeply seen('/day/x', 'a'), [200, 2], 'the day goes on';
is_deeply seen('/x', 'a'), [429, 2], 'so does the period';
for my $uri ('/x', '/refund/x') {
    my $charged = ask($uri, 'free');
    is limits($charged)->{used}, 1, "$uri: the first that is charged";
    ok about(limits($charged)->{reset}, $hour + 7260, 100), "$uri: opens the window, not an exempt one before it";
}

at($half + 3700);
my $next = ask('/x', 'a');
is_deeply [$next->status, limits($next)->{used}], [200, 1], 'the period is over';
ok about(limits($next)->{reset}, $half + 7300, 100), 'and begins anew';
is_deeply seen('/x', 'slow'), [200, 1], 'requests of the last window do not count';
$backend->release('gate');
is $slow->response->status, 200, 'one of them ends';
wait_until { 2 == grep { $_ eq '200 slow' } $nginx->lines('ends') } what => 'the log';
is_deeply seen('/x', 'slow'), [429, 2], 'and is charged to the window that is open then';

done;
