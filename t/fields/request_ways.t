# rate_limit_request_field: the body is read before limits are decided, whatever way it comes, and reaches the upstream as it was sent.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [401, [], ''] if $request->{uri} =~ m{/auth} && !$request->{headers}{'x-may'};
    return [500, [], 'failed'] if $request->{uri} =~ /failed/;
    return [200, [Model => $request->{headers}{'x-model'} // '-'], $request->{body}];
});
my $fields = 'rate_limit_request_field $model model default=none; rate_limit_request_field $user user.name metadata.user_id;';
my $nginx = RateLimit::Nginx->start(
    up   => $backend,
    files => {'page' => 'page', htpasswd => "user:{PLAIN}word\n"},
    http => redis_block('main', $redis) . "
        log_format ends '\$request_uri \$status \$model \$user';
        $fields
        server { listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/ends ends; rate_limit_key \$model; rate_limit 1000r/h;
            location / { proxy_pass http://%%UP%%; } }",
    server => '
        access_log %%DIR%%/ends ends; client_body_buffer_size 8k; client_max_body_size 1m; client_body_timeout 30s;
        rate_limit_key $model; rate_limit 1000r/h; proxy_set_header X-Model $model;
        location / { proxy_pass http://%%UP%%; }
        location /direct { proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://%%UP%%; }
        location /single { client_body_in_single_buffer on; proxy_pass http://%%UP%%; }
        location /few { rate_limit 2r/h name=few; proxy_pass http://%%UP%%; }
        location /late { rate_limit 1000r/h name=late phase=precontent; proxy_pass http://%%UP%%; }
        location /both { rate_limit 1000r/h name=one store=main; rate_limit 1000r/h name=two store=main key=$user phase=precontent; proxy_pass http://%%UP%%; }
        location /open { rate_limit off; proxy_pass http://%%UP%%; }
        location /named { try_files /nothing @named; }
        location @named { rate_limit_request_field $model other; proxy_pass http://%%UP%%; }
        location /failed { proxy_intercept_errors on; error_page 500 = /page; proxy_pass http://%%UP%%; }
        location = /page { rate_limit off; }
        location /mirrored { rate_limit 1000r/h name=mirrored phase=precontent; mirror /mirror; proxy_pass http://%%UP%%; }
        location = /mirror { internal; rate_limit off; proxy_pass http://%%UP%%/mirror; }
        location /authorized { auth_request /auth; proxy_pass http://%%UP%%; }
        location /memory { auth_request /auth; rate_limit 1000r/h name=memory store=local key=$model; proxy_pass http://%%UP%%; }
        location = /auth { internal; rate_limit off; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header X-May $http_x_may; proxy_pass http://%%UP%%; }
        location /satisfied { satisfy any; deny all; auth_basic x; auth_basic_user_file %%DIR%%/html/htpasswd; proxy_pass http://%%UP%%; }
        location /handed { error_page 418 = @handed; rate_limit off; return 418; }
        location @handed { rate_limit 1000r/h name=handed; proxy_pass http://%%UP%%; }',
);

my @json = ('Content-Type' => 'application/json; charset=utf-8');
my $body = '{"messages":[{"content":"hello"}],"model":"gpt-4","user":{"name":"ann"}}';
sub last_line () { return ($nginx->lines('ends'))[-1] }

# POSTs and looks at what the upstream got, and at the line of the log.
sub says ($uri, $body, $line, $what, %opt) {
    my $lines    = $nginx->lines('ends');
    my $response = $nginx->post($uri, $opt{sent} // $body, @{$opt{headers} // \@json});
    wait_until { $nginx->lines('ends') > $lines } what => 'its line of the log';
    is last_line(), "$uri " . ($opt{status} // 200) . " $line", $what;
    ok $response->body eq $body, '... and the upstream gets the body' if !$opt{status};
    return $response;
}

my $large = '{"text":"' . 'x' x 300_000 . '","model":"large","user":{"name":"ann"}}';
sub chunked ($body, $size) { return join('', map { sprintf "%x\r\n%s\r\n", length $_, $_ } $body =~ /(.{1,$size})/sg) . "0\r\n\r\n" }
for my $uri ('/x', '/direct', '/single', '/late', '/both') {
    is says($uri, $body, 'gpt-4 ann', "$uri: JSON")->header('Model'), 'gpt-4', '... which reads the variable';
    says($uri, $large, 'large ann', "$uri: in a file");
    says($uri, $body, 'gpt-4 ann', "$uri: in chunks of $_", sent => chunked($body, $_), headers => [@json, 'Transfer-Encoding' => 'chunked']) for 1, 7, 1000;
}
wait_until { $redis->used('ann', 'two/3600') == 5 } what => 'charges of five requests in Redis';
is_deeply [map { $redis->used($_, 'one/3600') } 'gpt-4', 'large'], [4, 1], 'each by its model';
is_deeply [map { limits($nginx->post("/few", qq({"model":"$_"}), @json))->{used} } 'a', 'b', 'a'], [1, 1, 2], 'limits count by the field';
is $nginx->post('/few', '{"model":"a"}', @json)->status, 429, 'and reject by it';
is $nginx->post('/few', '{"model":"c"}', @json)->status, 200, 'by it alone';

says('/x', 'a=1&model=form+%c3%a9&user.name=ann', "form \\xC3\\xA9 ann", 'a form', headers => ['Content-Type' => 'application/x-www-form-urlencoded']);
says('/x', '{"model":"m","metadata":{"user_id":7}}', 'm 7', 'the second path, a number');
says('/x', '{"model":""}', 'none unknown', 'an empty text is none');
says('/x', '{"model":"gpt-4","user":', 'none unknown', 'a broken body says nothing');
says('/x', '{"model":"gpt-4"} x', 'none unknown', 'nor does one with more behind it');
says('/x', 'model=a%0d%0aX-Other:+1', 'none unknown', 'nor a text that would begin another header', headers => ['Content-Type' => 'application/x-www-form-urlencoded']);
says('/x', '{"model":"a\\r\\nX-Other: 1"}', 'none unknown', '... in JSON');
says('/x', '{"model":"' . 'x' x 129 . '"}', 'none unknown', 'nor a long text');
says('/x', $body, 'none unknown', 'nor another type', headers => ['Content-Type' => 'text/plain']);
says('/x', $body, 'none unknown', 'nor no type', headers => []);
says('/open', $body, 'none unknown', 'nothing is read where there is no limit');
$nginx->get('/x');
is last_line(), '/x 200 none unknown', 'no body';
says('/x', '', 'none unknown', 'an empty body');

says('/named', '{"model":"m","other":"o"}', 'm unknown', 'the fields of the location that decided, not of the named one');
says('/handed', $body, 'gpt-4 ann', 'a location that is the first with a limit');
says('/mirrored', $large, 'large ann', 'a body that mirror has read, too');
is $nginx->post('/failed', $body, @json)->body, 'page', 'an error page';
$nginx->wait_line('ends', '/failed 200 gpt-4 ann');
pass '... after which the variable is still there';
says('/authorized', $body, 'gpt-4 ann', 'auth_request', headers => [@json, 'X-May' => 1]);
is $nginx->post('/authorized', $body, @json)->status, 401, '... that refuses';
# A body that nginx finds in the socket when it asks for it: nothing of the limit waits, and what comes after it does.
is $nginx->post('/memory', '{"text":"' . 'x' x $_ . '","model":"m"}', @json, 'X-May' => 1)->status, 200, "auth_request, $_ bytes, limited from memory"
    for 100, 2_000, 12_000, 20_000, 60_000, 300_000;
says('/satisfied', $large, 'large ann', 'satisfy any', headers => [@json, Authorization => 'Basic dXNlcjp3b3Jk']);
is $nginx->post('/satisfied', $large, @json)->status, 401, '... that refuses';

# A connection goes on with the next request.
my $http = $nginx->http;
is $http->post('/few', $_, @json)->status, 429, 'rejected on a connection that stays' for ('{"model":"a"}') x 2, '{"model":"a","x":"' . 'y' x 50_000 . '"}';
is $http->post('/x', $body, @json)->body, $body, 'which serves others';
my @two = $http->pipeline(['POST', '/x', \@json, $body], ['POST', '/x', \@json, '{"model":"two"}'], ['GET', '/x']);
is_deeply [map { $_->header('Model') } @two], ['gpt-4', 'two', 'none'], 'three in a row, each with its own field';

# Byte by byte, and Expect.
my $slow = $nginx->http;
$slow->send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " . length($body) . "\r\n\r\n");
wait_until { $slow->fill(1); $slow->{buffer} =~ /\r\n\r\n/ } what => '100 Continue';
like $slow->{buffer}, qr{^HTTP/1.1 100 Continue\r\n\r\n$}, 'the client is asked for the body';
$slow->{buffer} = '';
for my $byte (split //, $body) {
    $slow->send($byte);
    select undef, undef, undef, 0.001;
}
is $slow->response->header('Model'), 'gpt-4', 'byte by byte';

# Too large, aborted.
is says('/x', '', 'none unknown', 'too large', status => 413, sent => 'x' x 1_100_000)->status, 413, '... and told';
my $many = $nginx->http;
$many->send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
eval { $many->send(sprintf "%x\r\n%s\r\n", 100_000, 'x' x 100_000) for 1 .. 12; 1 };
is $many->response->status, 413, 'too large in chunks';
$many->close;
for my $how ('close', 'abort') {
    my $gone = $nginx->http;
    $gone->send("POST /gone$how HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"model\":\"gpt-4\"");
    select undef, undef, undef, 0.05;
    $gone->$how;
    wait_until { (grep { m{^/gone$how 400 none unknown} } $nginx->lines('ends')) == 1 } what => "the line of a client that is gone ($how)";
}
is scalar(grep { $_->[1] =~ /gone/ } $backend->requests), 0, 'nothing of it reaches the upstream';

# HTTP/2.
my $port = $nginx->port(1);
my $file = $nginx->folder . '/body';
for my $sent ($body, $large) {
    write_text($file, $sent);
    my $got = `curl -s --http2-prior-knowledge --max-time 10 -H 'Content-Type: application/json' --data-binary \@$file http://127.0.0.1:$port/h2`;
    ok $got eq $sent, 'HTTP/2: the body goes on';
    like last_line(), qr{^/h2 200 (gpt-4|large) ann$}, '... and is read';
}
$nginx->stop;

done;
