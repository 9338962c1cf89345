# An act goes to its end whatever becomes of its client: over HTTP/1.1 with keep-alive and pipelining, over HTTP/2, with a body that comes slowly, and where the
# client has left. Its answer keeps the connection for more. A client's preconditions about a version that it knows change no answer, of a page or a report
# neither.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(1);
my $reset  = (time + 3000) . '000';
my $fake   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $conn->hold('gate', hmget(3, $reset)) if $words->[0] eq 'hmget';
    return $words->[0] =~ /^eval/ ? $conn->hold('write', array(integer(0), integer($reset))) : fallback($words);
});
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main') . redis_block('fake', $fake) . 'rate_limit_key $http_x_key;
        server { listen 127.0.0.1:%%PORT_1%% http2; location /limits/ { rate_limit_console manage; } }',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h name=core store=main mode=charge_refund; }
        location /fake { rate_limit 5r/h name=fake store=fake; } location /mine { rate_limit 5r/h name=mine; }
        location = /report { rate_limit_report; rate_limit 5r/h name=mine; }',
);
my @type = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub get () { return $nginx->get('/x', 'X-Key' => 'a') }

get() for 1 .. 6;
my $client = $nginx->http;
my @answers = $client->pipeline((['POST', '/limits/key', \@type, 'key=a&limit=core'], ['POST', '/limits/key', \@type, 'do=add&cost=1&key=a&limit=core']) x 4);
is_deeply [map { $_->json->{windows}[0]{used} } @answers], [5, 4, 4, 3, 3, 2, 2, 1], 'several in one write, one after the other';
is $client->get('/limits/json')->status, 200, 'the connection serves more';
my $body = 'do=reset&key=a&limit=core';
$client->send("POST /limits/key HTTP/1.1\r\nHost: localhost\r\nContent-Type: $type[1]\r\nContent-Length: " . length($body) . "\r\n\r\n" . substr $body, 0, 9);
ok $client->quiet(0.1), 'half a body is no act';
$client->send(substr $body, 9);
is $client->response(method => 'POST')->json->{windows}[0]{used}, 0, 'the whole is';
$client->close;

my $port = $nginx->port(1);
open my $curl, '-|', 'curl', '-s', '--http2-prior-knowledge', '-d', 'key=a&limit=core', "http://127.0.0.1:$port/limits/key" or die $!;
is decode_json(do { local $/; <$curl> })->{windows}[0]{used}, 0, 'by HTTP/2';
close $curl;

for my $leave (qw(close abort)) {
    my $leaving = $nginx->http;
    my $before  = $nginx->count_log(qr/"fake" of "fake"/);
    my $asked   = () = $fake->commands('hmget');
    $leaving->start_request('POST', '/limits/key', \@type, 'do=reset&key=a&limit=fake');
    wait_until { (() = $fake->commands('hmget')) > $asked } what => 'the question';
    $fake->release('gate');
    wait_until { (grep { $_->[0] =~ /^eval/ && @$_ == 7 } $fake->commands) > $before } what => 'the write';
    $leaving->$leave;
    $fake->release('write');
    wait_until { $nginx->count_log(qr/"fake" of "fake", id [0-9a-f]{16}: reset in 3600 s: 3 used, now 0/) == $before + 1 } what => 'the line of an act whose client has left';
    pass "a client that leaves: $leave";
}
is get()->status, 200, 'nginx goes on';

for my $said (
    ['If-Match', '"x"'], ['If-None-Match', '*'],
    ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'], ['If-Modified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
) {
    is $nginx->act('do=reset&key=k&limit=mine', @$said)->status, 200, "an act with $said->[0]";
    is $nginx->get($_, @$said, 'X-Key' => 'k')->status, 200, "$_ with $said->[0]" for '/limits/', '/limits/json', '/limits/metrics', '/report';
}

done;
