# The local store is exact over all workers: of 20,000 requests over 400 connections, a limit of 1000 an hour admits
# 1000, no more and no fewer, and tells each of them another Used, whether it charges after the request or before it.

use RateLimit::Test;

# Admitted requests go on to a server behind, so that many requests are under way at once.
my $nginx = RateLimit::Nginx->start(
    workers   => 4,
    log_level => 'notice',
    http      => 'rate_limit_key $http_x_key; rate_limit_log_level info; keepalive_requests 1000000;
        server { listen 127.0.0.1:%%PORT_1%%; }',
    server => 'location / { rate_limit 1000r/h name=after; proxy_pass http://127.0.0.1:%%PORT_1%%; }
        location /before/ { rate_limit 1000r/h name=before mode=charge_refund;
            proxy_pass http://127.0.0.1:%%PORT_1%%/; }',
);

for my $uri ('/x', '/before/x') {
    my @seen = $nginx->parallel(
        connections => 400, requests => 20_000, timeout => 600, uri => $uri, headers => ['X-Key' => 'a']);
    is_deeply statuses(@seen), {200 => 1000, 429 => 19_000}, "$uri: exactly the limit passes";
    my @used = sort { $a <=> $b } map { $_->header('X-RateLimit-Used') } grep { $_->status == 200 } @seen;
    is_deeply \@used, [1 .. 1000], "$uri: each counts once";
    is_deeply [@{limits($nginx->get($uri, 'X-Key' => 'a'))}{qw(used remaining)}], [1000, 0], "$uri: as stored";
    is limits($nginx->get($uri, 'X-Key' => 'b'))->{used}, 1, "$uri: another key has its own";
}

done;
