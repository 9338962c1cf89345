# rate_limit_response_field holds nothing back and keeps nothing: what has come leaves before more has come, and ten megabytes of events
# take no memory.

use RateLimit::Test;

my $header  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
my @events  = map { "data: {\"n\":$_}\n\n" } 1 .. 3;
my $half    = 'data: {"usage":{"tot';
my $long    = 'data: {"choices":[{"delta":{"content":"' . 'x' x 200 . qq("}}]}\n\n);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    if ($request->{uri} =~ /long/) {
        $conn->close;
        return $header . $long x (10_000_000 / length $long) . 'data: {"usage":{"total":9}}' . "\n\n";
    }
    $conn->send("$header$events[0]");
    $conn->close if $request->{uri} !~ /slow/;
    return $conn->hold('gate', "$events[1]$half") if $request->{uri} =~ /slow/;
    return '';
});
my $nginx = RateLimit::Nginx->start(
    up     => $backend,
    http   => 'log_format ends "$request_uri tokens=$tokens cost=$rate_limit_cost";',
    server => 'access_log %%DIR%%/ends ends; rate_limit_key $uri; rate_limit_response_field $tokens usage.total;
        location / { rate_limit 100000r/h cost=$tokens; proxy_buffering off; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://%%UP%%; }',
);

my $http = $nginx->begin('/slow');
sub comes ($text, $what) {
    wait_until { $http->fill(1); $http->{buffer} =~ /\Q$text\E/ } what => $what;
    return pass $what;
}
comes($events[0], 'the first event comes while the upstream says nothing more');
$backend->release('gate');
comes($half, 'a part of an event comes when that is all there is');
$http->close;
$nginx->wait_line('ends', '/slow tokens=- cost=1');

sub peak () { return (read_text('/proc/' . ($nginx->workers)[0] . '/status') =~ /^VmHWM:\s+(\d+) kB/m)[0] }
$nginx->get('/x') for 1 .. 10;
my $before = peak();
my $long_one = $nginx->http(timeout => 60);
$long_one->start_request('GET', '/long');
my $body = $long_one->response->body;
cmp_ok length $body, '>', 9_900_000, 'ten megabytes come';
$nginx->wait_line('ends', '/long tokens=9 cost=9');
pass 'and are read to their end';
cmp_ok peak() - $before, '<', 1024, 'in no more memory than the proxy takes';
$nginx->stop;

done;
