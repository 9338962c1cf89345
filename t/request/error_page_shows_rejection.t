# A rejection goes through error_page like any error, keeps its headers there, and is not decided again: a
# page, a named location that proxies, another status.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, ['Retry-After' => 999_999, 'X-RateLimit-Used' => 77], 'from the backend'];
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key $http_x_key; rate_limit 1r/h;',
    files  => {'429.html' => "slow down\n"},
    up => $backend, server => 'location / { error_page 429 /429.html; }
        location /at/ { alias %%DIR%%/html/; error_page 429 = @slow; }
        location /as/ { alias %%DIR%%/html/; error_page 429 =503 /429.html; }
        location /ok/ { alias %%DIR%%/html/; error_page 429 =200 /429.html; }
        location /to/ { alias %%DIR%%/html/; error_page 429 http://127.0.0.1/slow; }
        location @slow { proxy_pass http://%%UP%%; }',
);

my %expected = (
    '/x'    => [429, "slow down\n"], '/at/x' => [200, 'from the backend'], '/as/x' => [503, "slow down\n"],
    '/ok/x' => [200, "slow down\n"], '/to/x' => [302],
);
for my $uri (sort keys %expected) {
    my ($status, $body) = @{$expected{$uri}};
    (my $key = $uri) =~ tr{/}{-};
    is $nginx->get($uri, 'X-Key' => $key)->status, 200, "$uri: the first passes";
    for (1 .. 2) {
        my $response = $nginx->get($uri, 'X-Key' => $key);
        shows $response, $status, {limit => 1, used => 1, remaining => 0, resource => 'default'}, "$uri: its headers";
        is $response->body, $body, "$uri: body" if $body;
        my $after = limits($response)->{retry_after};
        ok $after > 3600 - patience(100) && $after <= 3600, "$uri: Retry-After";
    }
}
$nginx->stop;
is $redis->hash($_)->{used}, 1, "$_: rejections are not charged" for sort $redis->keys;

done;
