# An admitted request is charged however it ends: the client leaves before or during the response, the
# upstream breaks off; never twice.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    if ($request->{uri} =~ /half/) {
        $conn->send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nX-Cost: 3\r\n\r\n" . 'x' x 1000);
        $conn->close(1) if $request->{uri} =~ /broken/;
        return;
    }
    return $conn->hold('gate', [200, ['X-Cost' => 7], 'late']);
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        log_format status "$status $rate_limit_status"; rate_limit_store main; rate_limit_key $http_x_key;
        rate_limit_cost $upstream_http_x_cost; rate_limit 99r/h;',
    server => sprintf '
        access_log %%%%DIR%%%%/status status; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_buffering off;
        location / { proxy_pass http://%1$s; }
        location /ignore { proxy_ignore_client_abort on; proxy_pass http://%1$s; }
        location /499 { rate_limit_exempt_status 499; proxy_pass http://%1$s; }', $backend->address,
);

sub start ($uri, $key) { return $nginx->reach($backend, $uri, 'X-Key' => $key) }
sub logged ($count) { return wait_until { $nginx->lines('status') == $count } what => "line $count of the log" }

start('/late', 'before')->abort;
logged(1);
my $half = start('/half', 'during');
wait_until { !$half->quiet(0.1) } what => 'the first part';
$half->abort;
logged(2);
start('/half/broken', 'broken')->at_end;
logged(3);
start('/ignore', 'ignored')->close;
start('/499', 'exempt')->abort;
logged(4);
$backend->release('gate');
logged(5);
is_deeply [$nginx->lines('status')], ['499 PASSED', '200 PASSED', '200 PASSED', '499 PASSED', '200 PASSED'], 'how they ended';
$nginx->stop;
is_deeply $redis->used_by_key, {
    'rl:default/3600:before' => 1, 'rl:default/3600:during' => 3, 'rl:default/3600:broken' => 3,
    'rl:default/3600:ignored' => 7,
}, 'charges, by the cost that was known';

done;
