# A request that ends before the access phase is never limited: by return, by a rewrite with a redirect, or because it is
# malformed.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key all; rate_limit 0r/h;',
    server => 'location / { }
        location /return { return 200 "returned"; }
        location /moved { return 301 /x; }
        location /rewrite { rewrite ^ /x redirect; }
        location /inside { rewrite ^ /x last; }
        if ($arg_stop) { return 403; }',
);

my %expected =
    ('/return' => 200, '/moved' => 301, '/rewrite' => 302, '/x?stop=1' => 403, '/inside' => 429, '/x' => 429);
for my $uri (sort keys %expected) {
    for (1 .. 2) {
        my $response = $nginx->get($uri);
        is $response->status, $expected{$uri}, "$uri: status";
        is defined limits($response)->{limit}, $expected{$uri} == 429, "$uri: headers only where it is limited";
    }
}
my $http = $nginx->http;
$http->send("GET /x HTTP/1.1\r\n\r\n");
shows $http->response, 400, {limit => undef}, 'a request without Host is not limited';
$nginx->stop;
is_deeply [$redis->keys], [], 'nothing is charged';

done;
