# docs/recipes.md, "WebSocket and server-sent events": each is charged when it begins, and a WebSocket does not count as running.

use RateLimit::Test;

my %answer = (
    '/socket' => "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    '/events' => "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
);
my $app = RateLimit::Backend->start(handler => sub ($request, $conn) {
    $conn->send($answer{$request->{uri}});
    return;
});
my $shards = RateLimit::Shards->start(1);
my $recipe = code(project_file('docs/recipes.md'), 'recipe: streams');
my $nginx  = start_text($shards->block('main') . "rate_limit_store main;\n$recipe", app => $app);
sub used ($name) { return $shards->primary->hash("rl:$name/60:127.0.0.1")->{used} // 0 }

# Opens one and reads its header; the connection stays.
my @open;
sub begin ($uri, @headers) {
    my $http = $nginx->http;
    push @open, $http;
    $http->send(join "\r\n", "GET $uri HTTP/1.1", 'Host: x', @headers, '', '');
    wait_until { $http->fill(1); $http->{buffer} =~ /\r\n\r\n/ } what => "the header of $uri";
    return RateLimit::Response->take(\$http->{buffer}, method => 'HEAD');
}

for my $count (1 .. 3) {
    shows begin('/socket', 'Upgrade: websocket', 'Connection: upgrade'), 101, {used => $count},
        'a WebSocket counts once';
    wait_until { used('sockets') == $count } what => 'its charge, while it is open';
}
for my $count (1 .. 3) {
    my $events = begin('/events', 'Connection: close');
    is $events->header('Content-Type'), 'text/event-stream', 'an event stream';
    is limits($events)->{used}, $count, 'counts once';
    is used('events'), $count, 'and is charged before it begins';
}
$app->drop;
ok $_->at_end, 'the application ends one' for @open;
$nginx->stop;
is used('sockets'), 3, 'the end of a WebSocket changes nothing';
is used('events'),  3, 'nor does that of an event stream';

done;
