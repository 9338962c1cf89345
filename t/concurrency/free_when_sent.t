# A slot is free again when the response has been sent to its end, though nginx goes on: with a mirror, a background update or post_action; over
# HTTP/1 and HTTP/2, with and without a body. What a slow client has not taken yet holds it, and so does an upgraded connection.

use RateLimit::Test;

# Requests that go on are held, and answered with the test's "gate".
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my ($uri) = $request->{uri} =~ m{^/(\w*)};
    return $conn->hold('never', [200, [], 'done']) if $request->{uri} =~ m{^/after/};
    if ($uri eq 'kept') {
        $conn->send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=9\r\n\r\nx");
        return $conn->hold('gate', 'xxxx');
    }
    if ($uri eq 'goes_on' || $uri eq 'cached' && $conn->state('slow')) {
        my $done = [200, [], 'done'];
        return $conn->state('ends') ? $done : $conn->hold('gate', $done);
    }
    return [200, ['Cache-Control' => 'max-age=1'], 'x' x 100] if $uri eq 'cached';
    return [204, [], ''] if $uri eq 'empty';
    return [200, [], 'x' x 8_000_000] if $uri eq 'large';
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello" if $uri eq 'upgraded';
    return [200, ['Content-Type' => 'text/plain'], 'x' x 5_000];
});
my $limit = 'rate_limit_concurrency 1 name=slots key=$arg_k;';
my $nginx = RateLimit::Nginx->start(
    up => $backend,
    http   => 'proxy_cache_path %%DIR%%/cache keys_zone=cache:1m;',
    server => "listen 127.0.0.1:%%PORT_1%% http2; gzip on; gzip_types *; gzip_min_length 1;
        location / { $limit mirror /goes_on; proxy_pass http://%%UP%%; }
        location /unbuffered { $limit mirror /goes_on; proxy_buffering off; proxy_pass http://%%UP%%; }
        location /file { $limit mirror /goes_on; alias %%DIR%%/html/x; }
        location /included { $limit ssi on; ssi_types *; mirror /goes_on; alias %%DIR%%/html/included; }
        location /after { $limit post_action /goes_on; proxy_pass http://%%UP%%; }
        location /cached { $limit proxy_pass http://%%UP%%; proxy_cache cache; proxy_cache_key \$uri; proxy_cache_use_stale updating; proxy_cache_background_update on; }
        location /kept { $limit proxy_http_version 1.1; proxy_set_header Connection ''; proxy_pass http://%%UP%%; proxy_cache cache; }
        location /large { $limit proxy_buffering off; proxy_pass http://%%UP%%; }
        location /upgraded { $limit proxy_http_version 1.1; proxy_set_header Connection upgrade; proxy_set_header Upgrade x; proxy_pass http://%%UP%%; }
        location = /goes_on { internal; proxy_pass http://%%UP%%/goes_on; }",
    files => {x => 'file', included => '<!--#include virtual="/x" --> and more'},
);

# Connections stay open: nginx closes one only when all of its request has ended.
my @open;
sub statuses_of ($uri, $method, @headers) {
    return [map { push @open, $nginx->http; $open[-1]->request($method, $uri, \@headers)->status } 1 .. 3];
}
my %paths = (upstream => '/', 'no buffers' => '/unbuffered', file => '/file', subrequests => '/included', post_action => '/after', empty => '/empty');
for my $name (sort keys %paths) {
    my $uri      = "$paths{$name}?k=" . $name =~ s/ //gr;
    my $expected = $name eq 'empty' ? 204 : 200;
    is_deeply statuses_of($uri, 'GET'), [($expected) x 3], "$name: one after another";
    is_deeply statuses_of($uri, 'GET', 'Accept-Encoding' => 'gzip'), [($expected) x 3], "$name, compressed";
    is_deeply statuses_of($uri, 'HEAD'), [($expected) x 3], "$name, HEAD";
}
is_deeply statuses_of('/file?k=same', 'GET', 'If-None-Match' => $nginx->http->get('/file?k=other')->header('ETag')), [(304) x 3], 'not modified';
is_deeply [map { http2($nginx->port(1), '/?k=two')->status } 1 .. 3], [(200) x 3], 'HTTP/2';

is $nginx->http->get('/cached?k=first')->status, 200, 'a response is in the cache';
sleep 2;
$backend->set(slow => 1);
is_deeply statuses_of('/cached?k=cached', 'GET'), [(200) x 3], 'served from the cache while it is updated';
wait_until { 2 == grep { $_->[1] =~ /cached/ } $backend->requests } what => 'one request for it, which goes on';

my $slow = $nginx->reach($backend, '/large?k=slow');
is $nginx->get('/large?k=slow')->status, 429, 'what a client has not taken holds its slot';
is length $slow->response->body, 8_000_000, '... and when it takes it';
is $nginx->get('/large?k=slow')->status, 200, '... the slot is free';

sub upgrade ($method) {
    push @open, $nginx->http->start_request($method, "/upgraded?k=$method", [Connection => 'upgrade', Upgrade => 'x']);
    return $open[-1]->response(method => 'HEAD')->status;
}
for my $method (qw(GET HEAD)) {
    is upgrade($method), 101, "$method: an upgraded connection";
    is upgrade($method), 429, '... holds its slot';
    $open[-2]->abort;
    wait_until { upgrade($method) == 101 } what => 'its end to free that';
}
$nginx->reload;
is upgrade('GET'), 429, '... through a reload';
$_->abort for @open[grep { $_ != $#open } 0 .. $#open];
wait_until { upgrade('GET') == 101 } what => 'their ends to free all';

# nginx fetches what it keeps in the cache, though the client wanted no body.
my $head = $nginx->http->start_request('HEAD', '/kept?k=kept');
is $head->response(method => 'HEAD')->status, 200, 'the header of a response that is to be kept';
is $nginx->get('/kept?k=kept')->status, 429, '... whose body is fetched, holds its slot';

# A client that leaves before its response ends.
for my $uri ('/leaves', '/goes_on_after') {
    my $left = $nginx->reach($backend, "/after$uri?k=left");
    my $before = $backend->requests;
    $left->abort;
    wait_until { $backend->requests > $before } what => 'post_action';
    is $nginx->http->get('/after?k=left')->status, 200, "$uri: post_action alone goes on";
}

# Some may be on their way yet.
$backend->set(ends => 1)->release('gate');
$_->close for @open;
done;
