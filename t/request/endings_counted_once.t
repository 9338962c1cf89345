# However a request ends, it is counted once, or not at all where it ends before its limits are looked at or with an
# exempt status; and nothing stays in flight. In the local store in both of its modes, and in Redis.

use RateLimit::Test;

my %answers = (
    (map { $_ => [$_] } qw(200 304 401 500)),
    file     => [200, ['X-Accel-Redirect' => '/inner/x']],
    location => [200, ['X-Accel-Redirect' => '@gone']],
    101      => "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my ($name) = $request->{uri} =~ m{([^/?]+)};
    return $answers{$name} // $conn->hold('gate', [200]);
});
my ($up, $away) = ('http://' . $backend->address, 'http://127.0.0.1:' . free_port());
my $redis  = RateLimit::Redis->start;
my $server = 'listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/ended key; root %%DIR%%/html;
    proxy_http_version 1.1; client_body_timeout 200ms; client_body_buffer_size 1k;
    rate_limit_key $http_x_key; rate_limit 1000r/h; rate_limit_bypass $arg_bypass;' . "
    location / { }
    location /up/ { proxy_pass $up/; }
    location /upgrade { proxy_set_header Connection upgrade; proxy_set_header Upgrade websocket; proxy_pass $up/101; }
    location /small { client_max_body_size 10; proxy_pass $up/200; }
    location /away { error_page 502 \@gone; proxy_pass $away; }
    location /away/uri { error_page 502 = /teapot; proxy_pass $away; }
    location /teapot { return 418; }
    location \@gone { rate_limit 1r/h name=never; try_files /none =410; }
    location /inner/ { internal; rate_limit 1r/h name=never; alias %%DIR%%/html/; }
    location /try { try_files /none /y =404; }
    location /error { error_page 404 = /x; }
    location /denied { deny all; }
    location /unknown { auth_request /up/401; }
    location /mirrored { mirror /up/mirror; alias %%DIR%%/html/x; }
    location /post-action { post_action /y; alias %%DIR%%/html/x; }
    location /ssi { ssi on; ssi_types *; }
    location /both { rate_limit 1000r/h; rate_limit 1r/h name=both; alias %%DIR%%/html/x; }
    location /later { rate_limit 1000r/h; rate_limit 1r/h name=later phase=precontent; alias %%DIR%%/html/x; }
    location /linger { lingering_close always; error_page 405 =200 /x; }";

my ($nginx, $key);    # those of the ending at hand
sub http ()                 { return $nginx->http }
sub get ($uri, @headers)    { return http()->get($uri, 'X-Key' => $key, @headers)->status }
sub start ($line, @headers) { return http()->send(head_of($line, @headers)) }
sub chunked ($uri, $body) { return start("POST $uri", 'Transfer-Encoding: chunked')->send($body)->response->status }

sub head_of ($line, @headers) { return join "\r\n", "$line HTTP/1.1", 'Host: localhost', "X-Key: $key", @headers, '', '' }

sub held ($more = '') {
    my $line = "GET /up/held?$key";
    my $http = http()->send(head_of($line) . ($more && head_of($more)));
    wait_until { grep { $_->[1] eq "/held?$key" } $backend->requests } what => "$line at the upstream";
    return $http;
}

# A request whose body nginx has begun to read.
sub in_body () {
    my $http = start('POST /up/200', 'Content-Length: 9', 'Expect: 100-continue');
    $http->quiet(5);
    return $http->send('abc');
}

# How often it is counted, how many lines it logs, what it does, and what the client gets, if anything.
my %endings = (
    'file'            => [1, 1, sub { get('/x') }, 200],
    'head'            => [1, 1, sub { http()->head('/x', 'X-Key' => $key)->status }, 200],
    'not-found'       => [1, 1, sub { get('/none') }, 404],
    'not-modified'    => [0, 1, sub { get('/x', 'If-None-Match' => '*') }, 304],
    'range'           => [1, 1, sub { get('/x', Range => 'bytes=0-0') }, 206],
    'no-range'        => [1, 1, sub { get('/x', Range => 'bytes=99-100') }, 416],
    'pipelined'       => [3, 3, sub { statuses(http()->pipeline((['GET', '/x', ['X-Key' => $key]]) x 3)) }, {200 => 3}],
    'http2'           => [1, 1, sub { http2($nginx->port(1), '/x', 'X-Key' => $key)->status }, 200],
    'up-304'          => [0, 1, sub { get('/up/304') }, 304],
    'up-500'          => [1, 1, sub { get('/up/500') }, 500],
    'up-away'         => [1, 1, sub { get('/away') }, 410],
    'up-away-uri'     => [1, 1, sub { get('/away/uri') }, 418],
    'upgrade'         => [1, 1, sub { start('GET /upgrade', 'Upgrade: websocket')->quiet(5) }, ''],
    'accel-file'      => [1, 1, sub { get('/up/file') }, 200],
    'accel-location'  => [1, 1, sub { get('/up/location') }, 410],
    'try-files'       => [1, 1, sub { get('/try') }, 200],
    'error-page'      => [1, 1, sub { get('/error/none') }, 200],
    'denied'          => [1, 1, sub { get('/denied') }, 403],
    'auth-request'    => [1, 1, sub { get('/unknown') }, 401],
    'mirror'          => [1, 1, sub { get('/mirrored') }, 200],
    'post-action'     => [1, 1, sub { get('/post-action') }, 200],
    'ssi'             => [1, 1, sub { get('/ssi') }, 200],
    'returned'        => [0, 1, sub { get('/teapot') }, 418],
    'bypass'          => [0, 1, sub { get('/x?bypass=1') }, 200],
    'bypass-later'    => [0, 1, sub { get('/later?bypass=1') }, 200],
    'both'            => [1, 3, sub { [map { get('/both') } 1 .. 3] }, [200, 429, 429]],
    'later'           => [1, 3, sub { [map { get('/later') } 1 .. 3] }, [200, 429, 429]],
    'reset'           => [1, 1, sub { held()->abort }],
    'closed'          => [1, 1, sub { held()->close }],
    'reset-pipelined' => [1, 1, sub { held('GET /x')->abort }],
    'reset-in-body'   => [1, 1, sub { in_body()->abort }],
    'body-too-slow'   => [1, 1, sub { in_body()->at_end }, 1],
    'body-too-large'  => [0, 1, sub { http()->post('/small', 'x' x 99, 'X-Key' => $key)->status }, 413],
    'chunk-too-large' => [1, 1, sub { chunked('/small', "ff\r\n" . 'x' x 255 . "\r\n0\r\n\r\n") }, 413],
    'bad-chunk'       => [1, 1, sub { chunked('/up/200', "zz\r\n") }, 400],
    'lingering'       => [1, 1, sub { start('POST /linger', 'Content-Length: 9')->send('abc')->response->status }, 200],
);
my @names = sort keys %endings;
sub wanted ($number) { return {map { $_ => $endings{$_}[$number] } @names} }

for (['local', 'check_charge'], ['local', 'charge_refund'], ['main', 'check_charge']) {
    my ($store, $mode) = @$_;
    $nginx = RateLimit::Nginx->start(
        workers => 2,
        http    => redis_block('main', $redis) . "log_format key \$http_x_key; rate_limit_store $store; rate_limit_mode $mode;",
        server => $server,
        files  => {ssi => '<!--# include virtual="/y" -->', y => 'y'},
    );
    $backend->forget;
    my %results = map { $key = $_; $_ => scalar $endings{$_}[2]->() } @names;
    is_deeply \%results, wanted(3), "$store, $mode: what the client gets";
    $backend->release('gate');
    my %lines;
    wait_until {
        %lines = map { $_ => 0 } @names;
        $lines{$_}++ for $nginx->lines('ended');
        !grep { $lines{$_} < $endings{$_}[1] } @names
    } what => 'all to end';
    is_deeply \%lines, wanted(1), 'each request ends once';
    my %used = map { $_ => limits(http()->get('/x', 'X-Key' => $_, 'If-None-Match' => '*'))->{used} } @names;
    is_deeply \%used, wanted(0), 'and is counted as it should be';
    $nginx->stop;
}
my %counts = map { $endings{$_}[0] ? ("rl:default/3600:$_" => $endings{$_}[0]) : () } @names;
is_deeply $redis->used_by_key, {%counts, map { ("rl:$_/3600:$_" => 1) } qw(both later)}, 'so Redis has it, and nothing else';

done;
