# An upgraded connection holds its slot until it ends, also through a reload.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) {
        return [200, [], 'fine'] if ($request->{headers}{upgrade} // '') ne 'echo';
        return "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello";
    }
);
my $nginx = RateLimit::Nginx->start(
    up => $backend, http => redis_block('main', $redis),
    server => 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;
        location /local { rate_limit_concurrency 1 name=here key=$arg_k; proxy_pass http://%%UP%%; }
        location /redis { rate_limit_concurrency 1 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
);

for my $store (qw(local redis)) {
    my $open = $nginx->begin("/$store?k=a", Connection => 'upgrade', Upgrade => 'echo');
    is $open->response(method => 'HEAD')->status, 101, "$store: upgraded";
    wait_until { $nginx->get("/$store?k=a")->status == 429 } what => "$store: the slot is taken";
    $nginx->reload;
    is $nginx->get("/$store?k=a")->status, 429, "$store: a new worker knows that the connection is still there";
    $open->close;
    wait_until { $nginx->get("/$store?k=a")->status == 200 } what => "$store: its slot is free";
}

done;
