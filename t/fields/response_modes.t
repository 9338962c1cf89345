# rate_limit_response_field in each mode and store: a limit that is charged before the request is settled to what the body said; a client or
# an upstream that leaves in the middle pays for what has been said by then.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $event   = sub ($tokens) { return qq(data: {"usage":{"total_tokens":$tokens}}\n\n) };
my $header  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my $uri = $request->{uri};
    return [200, ['Content-Type' => 'application/json'], '{"usage":{"total_tokens":70}}'] if $uri !~ /stream|cut/;
    $conn->send($header . $event->(5));
    return $conn->hold('gate', $event->(7)) if $uri =~ /stream/;
    $conn->send('data: {"usage":{"total_tokens":1');
    $conn->close;
    return;
});
my %limit = (
    check_charge  => 'rate_limit 100000r/h mode=check_charge',
    charge_refund => 'rate_limit 100000r/h mode=charge_refund',
    lease         => 'rate_limit 100000r/h mode=lease',
    bucket        => 'rate_limit 100000r/30d burst=100000 mode=charge_refund',
);
my @cases = map { my $mode = $_; map { [$mode, $_] } 'local', 'main' } sort keys %limit;
my $nginx = RateLimit::Nginx->start(
    up     => $backend,
    http   => redis_block('main', $redis) . 'log_format ends "$request_uri tokens=$tokens cost=$rate_limit_cost";',
    server => 'access_log %%DIR%%/ends ends; rate_limit_key $uri; rate_limit_response_field $tokens usage.total_tokens; proxy_buffering off; proxy_http_version 1.1; proxy_set_header Connection "";'
        . join "\n", map { "location /$_->[0]/$_->[1] { $limit{$_->[0]} store=$_->[1] name=$_->[0] cost=\$tokens; proxy_pass http://%%UP%%; }" } @cases,
);

for (@cases) {
    my ($mode, $store) = @$_;
    my $uri = "/$mode/$store";
    $nginx->get($uri) for 1 .. 3;
    is_deeply [grep { /^\Q$uri\E / } $nginx->lines('ends')], [("$uri tokens=70 cost=70") x 3], "$mode, $store: the body's number is charged";
    my $used = limits($nginx->get($uri))->{used};
    my $shown = $mode eq 'check_charge' ? 210 : 211;
    is $used, $shown, '... and shown to the next request' if $mode ne 'bucket';

    my $http = $nginx->begin("$uri/stream");
    wait_until { $http->fill(1); $http->{buffer} =~ /"total_tokens":5/ } what => 'the first event';
    $nginx->abandon($http, 'ends', "$uri/stream tokens=5 cost=5");
    pass 'a client that leaves in the middle pays for what it got';
    $nginx->get("$uri/cut");
    $nginx->wait_line('ends', "$uri/cut tokens=5 cost=5");
    pass 'where the upstream leaves, a half number counts for nothing';
}
$nginx->stop;
is $redis->used('/check_charge/main', 'check_charge/3600'), 280, 'charged in Redis';
is $redis->used('/charge_refund/main', 'charge_refund/3600'), 280, 'and settled there';

done;
