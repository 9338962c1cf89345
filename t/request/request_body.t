# A request body that arrives before, while and after the check waits reaches the upstream whole, small or
# large, with `Expect: 100-continue` and over HTTP/2.

use RateLimit::Test;

my $fake = RateLimit::FakeRedis->start(handler => holding_reads());
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $fake, timeouts('20s')) . '
        rate_limit_store main; rate_limit_key $http_x_key; client_max_body_size 9m;
        server { listen 127.0.0.1:%%PORT_1%% http2; location / {
            rate_limit 99r/h; proxy_request_buffering off; proxy_http_version 1.1;
            proxy_pass http://' . $backend->address . ';
        } }',
    up => $backend, server => 'location / { rate_limit 99r/h; proxy_pass http://%%UP%%; }
        location /direct {
            rate_limit 99r/h; proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://%%UP%%;
        }
        location /mirrored { rate_limit 99r/h; rate_limit 99r/h name=b key=$http_x_b phase=precontent;
            mirror /mirror; proxy_pass http://%%UP%%; }
        location = /mirror { return 200; }
        location /none { rate_limit 0r/h; proxy_pass http://%%UP%%; }',
);
my $large = join '', map { sprintf '%07x ', $_ } 1 .. 131_072;
my $asked = 0;

sub gate ($during = sub { }) {
    ++$asked;
    wait_until { $fake->commands('hmget') == $asked } what => 'the check';
    $during->();
    $fake->release('gate');
    return;
}

sub arrived () {
    my ($last) = reverse $backend->requests;
    $backend->forget;
    return $last->[2];
}

# A large body may not fit into the socket's buffers.
sub in_child ($run) {
    my $pid = fork // die $!;
    return $pid if $pid;
    $run->();
    POSIX::_exit(0);
}

for my $uri ('/', '/direct', '/mirrored') {
    for my $body ('small', $large) {
        my $size = length $body;
        my $http = $nginx->http;
        $http->start_request('POST', $uri, ['X-Key' => 'a', 'Content-Length' => $size]);
        my $writer;
        gate(sub { $writer = in_child(sub { $http->send($body) }) });
        waitpid $writer, 0;
        is $http->response->status, 200, "$uri: a body of $size bytes comes while the check waits";
        ok arrived() eq $body, 'and arrives';

        my $early = $nginx->http;
        $writer = in_child(sub { $early->start_request('POST', $uri, ['X-Key' => 'a'], $body) });
        gate();
        waitpid $writer, 0;
        is $early->response->status, 200, "$uri: it comes at once";
        ok arrived() eq $body, 'and arrives';
        is $early->get('/', 'Connection' => 'close')->status, 200, 'and the connection goes on';
    }

    my $http = $nginx->http;
    $http->start_request('POST', $uri, ['X-Key' => 'a', 'Content-Length' => 4, Expect => '100-continue']);
    gate(sub { ok $http->quiet(0.05), 'no 100 before the check' });
    ok !$http->quiet(5), 'then 100 Continue';
    is $http->send('body')->response->status, 200, "$uri: Expect: 100-continue";
    is arrived(), 'body', 'and the body arrives';
}

my $chunked = $nginx->http;
$chunked->send("POST / HTTP/1.1\r\nHost: x\r\nX-Key: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbo");
gate(sub { $chunked->send("d\r\n1") });
is $chunked->send("\r\ny\r\n0\r\n\r\n")->response->status, 200, 'a body in chunks';
is arrived(), 'body', 'and arrives';

write_text(test_folder() . '/large', $large);
my $curl = in_child(sub {
    exec 'curl', '-s', '--http2-prior-knowledge', '-H', 'X-Key: a', '-o', '/dev/null',
        '--data-binary', '@' . test_folder() . '/large', 'http://127.0.0.1:' . $nginx->port(1) . '/';
});
gate();
waitpid $curl, 0;
is $?, 0, 'a large body over HTTP/2';
ok arrived() eq $large, 'arrives';

my $rejected = $nginx->http;
$rejected->start_request('POST', '/none', ['X-Key' => 'a', 'Content-Length' => 4, Expect => '100-continue']);
ok !$rejected->quiet(5), 'a rejected request is answered';
like $rejected->{buffer}, qr{^HTTP/1\.1 429 }, 'without being asked for its body';
$rejected->close;
my $posted = $nginx->http;
is $posted->post('/none', $large, 'X-Key' => 'a')->status, 429, 'a rejected body is discarded';
is $posted->post('/none', 'x', 'X-Key' => 'a')->status, 429, 'and the connection goes on';

done;
