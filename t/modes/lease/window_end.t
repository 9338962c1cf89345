# lease: tokens are spent in their window alone. In the next one nginx fetches a new batch, also for requests that waited for a
# batch of a window that has ended meanwhile, and gives nothing of the last one back.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) { return $conn->hold('gate', [304, ['ETag' => '"a"']]) });
my $nginx   = RateLimit::Nginx->start(
    clock   => 1,
    http    => redis_block('main', $proxy, timeouts('20s')) . '
        rate_limit_store main; rate_limit_mode lease; rate_limit_lease 100; rate_limit_key $http_x_key;
        log_format end "$status $http_x_key";',
    server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 150r/h name=first; }
        location /clock { rate_limit 150r/h name=clock window=clock; }
        location /all { rate_limit 100r/h name=all; }
        location /all-clock { rate_limit 100r/h name=all-clock window=clock; }
        location /few { rate_limit 3r/h name=few; }
        location /slow { rate_limit 3r/h name=few; proxy_pass http://' . $backend->address . '; }',
);
my %window = ('/x' => 'first/3600', '/clock' => 'clock/3600c', '/few' => 'few/3600', '/all' => 'all/3600',
    '/all-clock' => 'all-clock/3600c');
my $offset = 0;

sub next_window () { return $nginx->travel('+' . ($offset += 3601)) }

sub ask ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }
sub stored ($uri, $key) { return $redis->stored($key, $window{$uri}) }
sub reset_of ($uri, $key) { return int((stored($uri, $key)->{reset} + 999) / 1000) }

for my $uri ('/x', '/clock') {
    my $first = limits(ask($uri, 'end'));
    is_deeply [$first->{used}, stored($uri, 'end')->{used}], [1, 100], "$uri: one of a batch is spent";
    my $calls = $redis->calls('evalsha');
    next_window();
    my $second = limits(ask($uri, 'end'));
    is_deeply [$second->{used}, $second->{remaining}], [1, 149], 'in the next window nothing is spent yet';
    is $redis->calls('evalsha'), $calls + 1, 'it has a batch of its own';
    is $second->{reset}, reset_of($uri, 'end'), 'and its end';
    cmp_ok $second->{reset}, '>', $first->{reset} + 3590, 'which is another one';
    is stored($uri, 'end')->{used}, 100, 'what is stored is that batch';
    is_deeply statuses($nginx->parallel(connections => 4, requests => 160, uri => $uri, headers => ['X-Key' => 'end'])),
        {200 => 149, 429 => 11}, 'exactly the limit passes';
}

# Those who wait while the window ends, for all of its limit.
for my $uri ('/all', '/all-clock') {
    my @clients = map { $nginx->http } 1 .. 3;
    my $calls   = $redis->calls('evalsha');
    $proxy->stall('answers');
    $_->start_request('GET', $uri, ['X-Key' => 'wait']) for @clients;
    wait_until { stored($uri, 'wait')->{used} } what => 'the batch';
    my $ended = reset_of($uri, 'wait');
    next_window();
    $proxy->flow;
    my @responses = map { $_->response } @clients;
    is_deeply statuses(@responses), {200 => 3}, "$uri: those who wait while a window ends pass";
    is_deeply [map { limits($_)->{used} } @responses], [1 .. 3], 'in the next one';
    cmp_ok limits($responses[0])->{reset}, '>', $ended + 3590, 'whose end they are told';
    is limits($responses[0])->{reset}, reset_of($uri, 'wait'), 'as stored';
    is_deeply [stored($uri, 'wait')->{used}, $redis->calls('evalsha') - $calls], [100, 2], 'with a batch for all';
}

# A token that is given back after the end of its window does not come back to the next one.
my $http = $nginx->reach($backend, '/slow', 'X-Key' => 'late');
next_window();
is limits(ask('/few', 'late'))->{used}, 1, 'the next window';
$backend->release('gate');
is $http->response->status, 304, 'an exempt response of the last one';
$nginx->wait_line('ends', '304 late');
is_deeply [map { ask('/few', 'late')->status } 1 .. 3], [200, 200, 429], 'its token does not come back to the next';
is stored('/few', 'late')->{used}, 3, 'nor in Redis';
$nginx->stop;
is stored('/few', 'late')->{used}, 3, 'nor later';
is $nginx->count_log(qr/could not be checked|doubt|dropped/), 0, 'nothing went wrong';

done;
