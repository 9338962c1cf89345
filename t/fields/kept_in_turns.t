# A body that something else has read before a limit asks for it is read a part in each turn of the event loop, from a file
# and from memory. The limit is decided behind its last byte.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $request->{uri} =~ /first/ ? [500, [], 'failed'] : [200, [], length $request->{body}];
});
my $nginx = RateLimit::Nginx->start(
    log_level => 'debug_event',
    up        => $backend,
    http      => 'log_format ends "$status $model"; rate_limit_request_field $model model;',
    server    => 'access_log %%DIR%%/ends ends; client_max_body_size 8m; proxy_intercept_errors on;
        location /first/file { error_page 500 = @limited; proxy_pass http://%%UP%%; }
        location /first/memory { error_page 500 = @limited; client_body_buffer_size 4m; proxy_pass http://%%UP%%; }
        location /first/after { error_page 500 = @limited; post_action /after; proxy_pass http://%%UP%%; }
        location @limited { rewrite ^ /then break; rate_limit_key $model; rate_limit 1000r/h; proxy_pass http://%%UP%%; }
        location /after { internal; proxy_pass http://%%UP%%; }',
);
plan skip_all => 'nginx was built without --with-debug' if $nginx->error_log !~ /\[debug\]/;
my @json = ('Content-Type' => 'application/json');
sub turns () { return scalar(() = $nginx->error_log =~ /event timer add: -1: 0:/g) }

my $size = 2_000_000;
my $body = '{"list":[' . '1,' x ($size / 2) . '1],"model":"last"}';
for my $where ('file', 'memory') {
    my $before   = turns();
    my $response = $nginx->post("/first/$where", $body, @json);
    is $response->body, length $body, "in $where: it reaches the upstream";
    cmp_ok turns() - $before, '>=', int($size / 32_768), '... and was read in as many turns as it has parts';
    $nginx->post("/first/$where", substr($body, 0, -1), @json);
}
wait_until { $nginx->lines('ends') == 4 } what => 'their lines';
is_deeply [$nginx->lines('ends')], [('200 last', '200 unknown') x 2], 'they are read to the end, without which they say nothing';
my $turns = turns();
is $nginx->post('/first/file', '{"model":"short"}', @json)->status, 200, 'a short body';
is turns(), $turns, '... waits for no turn';

# Some of them leave before it is read, and some behind it.
for my $n (1 .. 20) {
    my $http = $nginx->http->start_request('POST', $n % 2 ? '/first/file' : '/first/after', \@json, $body);
    wait_until { turns() > $turns } what => 'its first turn';
    $http->abort;
    wait_until { $nginx->lines('ends') == 5 + $n } what => 'its end';
    $turns = turns();
}
is $nginx->post('/first/file', $body, @json)->status, 200, 'and the next one is read as before';

done;
