# rate_limit_response_field: whatever way a response takes to the client, what its body says is charged, and nothing of it is changed.

use RateLimit::Test;

my $usage  = '{"id":"x","usage":{"prompt_tokens":2,"total_tokens":42}}';
my @events = (map({ sprintf '{"n":%d,"content":"%s"}', $_, 'x' x 40 } 1 .. 3), '{"usage":{"total_tokens":40}}', '{"choices":[],"usage":{"total_tokens":42}}', '[DONE]');
my $events = join '', map { "data: $_\n\n" } @events;

sub chunked ($type, $body, $size) {
    my $text = "HTTP/1.1 200 OK\r\nContent-Type: $type\r\nTransfer-Encoding: chunked\r\n\r\n";
    $text .= sprintf "%x\r\n%s\r\n", length $_, $_ for $body =~ /(.{1,$size})/sg;
    return "${text}0\r\n\r\n";
}

my $json    = ['Content-Type' => 'application/json'];
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my $uri = $request->{uri};
    return chunked('application/json', $usage, 7) if $uri =~ /chunked/;
    return chunked('text/event-stream', $events, $1) if $uri =~ /events(\d+)/;
    return chunked('application/x-ndjson', "$usage\n" x 3, 11) if $uri =~ /lines/;
    return [302, ['X-Accel-Redirect' => '/moved', @$json], '{"usage":{"total_tokens":7}}'] if $uri =~ /accel/;
    return [500, $json, '{"usage":{"total_tokens":7}}'] if $uri =~ /failed/;
    return [404, $json, '{"usage":{"total_tokens":42}}'] if $uri =~ /missing/;
    return [206, [@$json, 'Content-Range' => 'bytes 0-54/99'], $usage] if $uri =~ /part/;
    return [200, [@$json, 'Content-Encoding' => 'gzip'], $usage] if $uri =~ /encoded/;
    return [200, [@$json, 'Content-Encoding' => 'identity'], $usage] if $uri =~ /plain/;
    return [200, ['Content-Type' => 'application/problem+json; charset=utf-8', 'Cache-Control' => 'max-age=60'], $usage] if $uri =~ /kept/;
    return [200, ['Content-Type' => 'text/plain'], $usage] if $uri =~ /text/;
    return [200, $json, $usage];
});
my $nginx = RateLimit::Nginx->start(
    up    => $backend,
    files => {'static.json' => $usage},
    http  => '
        types { application/json json; }
        proxy_cache_path %%DIR%%/cache keys_zone=kept:1m;
        log_format ends "$request_uri $status tokens=$tokens cost=$rate_limit_cost";
        upstream again { server %%UP%%; keepalive 4; }
        rate_limit_key $request_uri; rate_limit 1000r/h cost=$tokens;
        rate_limit_response_field $tokens usage.total_tokens;
        server { listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/ends ends; location / { proxy_pass http://again; } }',
    server => '
        access_log %%DIR%%/ends ends;
        location / { proxy_pass http://%%UP%%; }
        location /again { proxy_pass http://again; proxy_http_version 1.1; proxy_set_header Connection ""; }
        location /unbuffered { proxy_pass http://%%UP%%; proxy_buffering off; }
        location /squeezed { proxy_pass http://%%UP%%; gzip on; gzip_types application/json; gzip_min_length 1; }
        location /changed { proxy_pass http://%%UP%%; sub_filter_types application/json; sub_filter total_tokens other; }
        location /named { try_files /nothing @named; }
        location @named { rate_limit_response_field $tokens usage.prompt_tokens; proxy_pass http://%%UP%%; }
        location /accel { proxy_pass http://%%UP%%; }
        location /moved { internal; rate_limit off; rate_limit_response_field $other x; rate_limit_key ""; proxy_pass http://%%UP%%; }
        location /failed { error_page 500 /error; proxy_intercept_errors on; proxy_pass http://%%UP%%; }
        location /error { internal; rate_limit off; proxy_pass http://%%UP%%; }
        location /kept { proxy_cache kept; sendfile on; proxy_pass http://%%UP%%; }
        location /static.json { sendfile on; }
        location /own { rate_limit 1000r/h cost=$tokens; rate_limit_response_field $tokens message.x usage.prompt_tokens usage.total_tokens; proxy_pass http://%%UP%%; }
        location /other { rate_limit 1000r/h; proxy_pass http://%%UP%%; }',
);

my %asked;
sub charged ($uri, $cost, $what, %opt) {
    my $response = $nginx->request($opt{method} // 'GET', $uri, $opt{headers} // []);
    is $response->status, $opt{status} // 200, "$uri: $what";
    my $tokens = $opt{tokens} // $cost;
    my @lines  = grep { index($_, "$uri ") == 0 } $nginx->lines('ends');
    is $lines[-1], "$uri " . ($opt{status} // 200) . " tokens=$tokens cost=$cost", '... and is charged';
    is scalar @lines, ++$asked{$uri}, '... once';
    return $response;
}

is charged('/x', 42, 'with its length')->body, $usage, '... and as it came';
is charged('/chunked', 42, 'in chunks')->body, $usage, '... and as it came';
is charged("/events$_", 42, "events in chunks of $_")->body, $events, '... and as they came' for 1, 2, 3, 7, 50, 5000;
is charged('/lines', 42, 'lines')->body, "$usage\n" x 3, '... and as they came';
charged('/again', 42, 'on a connection that is used again') for 1 .. 3;
charged('/unbuffered/events5', 42, 'without buffers');
my $squeezed = charged('/squeezed', 42, 'compressed behind it', headers => ['Accept-Encoding' => 'gzip']);
is $squeezed->header('Content-Encoding'), 'gzip', '... indeed';
like charged('/changed', 42, 'changed behind it')->body, qr/"other":42/, '... indeed';
charged('/named', 42, 'the fields of the location that decided, not of the named one');
charged('/accel', 42, 'what the redirect leads to, not what asked for it');
charged('/failed', 42, 'the page of an error', status => 500);
charged('/missing', 42, 'an error of its own', status => 404);
for my $count (1 .. 3) {
    is charged('/kept', 42, "of a cache, request $count")->body, $usage, '... whole';
}
is scalar(grep { $_->[1] eq '/kept' } $backend->requests), 1, '... indeed';
is charged('/static.json', 42, 'a file')->body, $usage, '... whole';
charged('/own', 2, 'the first path that occurs');
charged('/plain', 42, 'an encoding that is none');

charged('/part', 1, 'a part by the upstream', status => 206, tokens => '-');
charged('/static.json?range', 1, 'a part by nginx', status => 206, tokens => '-', headers => [Range => 'bytes=0-60']);
charged('/x?head', 1, 'HEAD', method => 'HEAD', tokens => '-');
charged('/text', 1, 'another type', tokens => '-');
charged('/other', 1, 'no cost names it', tokens => '-');
is $nginx->count_log(qr/is not read/), 0, 'nothing is logged of these';
charged('/encoded', 1, 'encoded', tokens => '-') for 1 .. 20;
my @told = grep { /is not read/ } split /\n/, $nginx->error_log;
cmp_ok scalar @told, '<=', patience(2), 'which is told, not each time';
like $told[0], qr/\[error\].* rate limit: a response with Content-Encoding "gzip" is not read for "\$tokens" in \S+nginx.conf:\d+: write proxy_set_header Accept-Encoding "" beside proxy_pass/, '... with the remedy';

my $stream = http2($nginx->port(1), '/h2/events3');
is $stream->body, $events, 'HTTP/2: as it came';
wait_until { (grep { m{^/h2} } $nginx->lines('ends')) == 1 } what => 'its line';
is((grep { m{^/h2} } $nginx->lines('ends'))[0], '/h2/events3 200 tokens=42 cost=42', '... and charged');

# The next request shows what the one before was charged.
is limits($nginx->get('/x'))->{used}, 42, 'headers show it from then on';
$nginx->stop;

done;
