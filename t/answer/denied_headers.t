# A response that rate_limit_on_error denies has Retry-After: 1 and no other header of this module, also where a window is
# known. It has none at all where headers are off.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http    => redis_block('main', $redis, 'check_timeout 100ms;') . '
        rate_limit_key $http_x_key; rate_limit_on_error deny; rate_limit_store main;
        add_header X-Outcome $rate_limit_status always;',
    server => join '', map {
        my ($name, $more) = @$_;
        "location /$name { alias %%DIR%%/html/x; rate_limit 9r/h name=a; $more }\n"
    } [github => ''], [ietf => 'rate_limit_headers ietf;'], [both => 'rate_limit_headers github ietf;'],
        [off => 'rate_limit_headers off;'], [status => 'rate_limit_error_status 500;'],
        [dry => 'rate_limit_dry_run on;'],
        [two => 'rate_limit 9r/h name=b store=local;'],
);

sub ours ($response) { return [grep { /^(?:retry-after|x-?ratelimit.*|ratelimit.*)$/ } map { lc $_->[0] } $response->headers] }

for my $key ('new', 'known') {
    if ($key eq 'known') {
        $redis->restart;
        wait_until { $nginx->get('/github', 'X-Key' => $key)->status == 200 } what => 'the store is back', timeout => 20;
        wait_until { limits($nginx->get('/github', 'X-Key' => $key))->{used} > 1 } what => 'the window is known';
    }
    $redis->kill;
    for my $where (qw(github ietf both two)) {
        my $response;
        wait_until { $response = $nginx->get("/$where", 'X-Key' => $key); $response->status == 503 } what => 'a denial';
        is $response->header('X-Outcome'), 'ERROR_DENIED', "$where, $key: denied";
        is_deeply ours($response), ['retry-after'], "$where, $key: one header of ours";
        is $response->header('Retry-After'), 1, "$where, $key: 1";
    }
    my $response = $nginx->get('/off', 'X-Key' => $key);
    is_deeply [$response->status, @{ours($response)}], [503], "off, $key: none";
    $response = $nginx->get('/status', 'X-Key' => $key);
    is_deeply [$response->status, $response->all('Retry-After')], [500, 1], "$key: with a status of its own";
    $response = $nginx->get('/dry', 'X-Key' => $key);
    is_deeply [$response->status, $response->all('Retry-After')], [200], "$key: nothing is denied in a dry run";
}

done;
