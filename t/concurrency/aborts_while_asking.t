# Clients that leave while Redis is asked for their slot, over HTTP/1 and HTTP/2, leave none behind: Redis is frozen meanwhile, or answers after
# they have gone. Nor do those that leave while they are answered.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) {
        return [200, [], 'x' x 4_000_000] if $request->{uri} =~ m{^/large};
        return RateLimit::Backend::as_asked($request, $conn);
    });
my $nginx = RateLimit::Nginx->start(
    up => $backend, workers => 2,
    http => redis_block('main', $proxy, 'check_timeout 400ms; connect_timeout 9s;') . '
        server { listen 127.0.0.1:%%PORT_1%% http2; rate_limit_on_error deny;
            location / { rate_limit_concurrency 3 key=$arg_k store=main; proxy_pass http://%%UP%%; } }',
    server => 'location /open { stub_status; } rate_limit_on_error deny; location / { rate_limit_concurrency 3 key=$arg_k store=main; proxy_pass http://%%UP%%; }
        location /two { rate_limit_concurrency 3 key=$arg_k store=main; rate_limit_concurrency 3 name=second key=$arg_k store=main;
            rate_limit 1000r/h key=$arg_k store=main; proxy_pass http://%%UP%%; }',
);

sub frame ($type, $flags, $stream, $payload) { return substr(pack('N', length $payload), 1) . pack('CCN', $type, $flags, $stream) . $payload }
sub ask ($stream, $uri) { return frame(1, 0x05, $stream, "\x82\x86\x04" . chr(length $uri) . "$uri\x41\x09localhost") }

sub all_gone () { return wait_until { $nginx->get('/open')->body =~ /connections: 1 / } what => 'all clients to be gone' }

sub all_free ($what, $key) {
    for my $uri ('/slow', '/two/slow') {
        wait_until {
            my $before = $backend->requests;
            my @open   = map { $nginx->begin("$uri?k=$key") } 1 .. 3;
            wait_until { $backend->requests == $before + 3 || grep { !$_->quiet(0.001) } @open } what => "requests, $what";
            # A request whose client has gone may have come to the backend only now: then these are not the three.
            my $all = $backend->requests == $before + 3 && $nginx->get("/x?k=$key")->status == 429;
            # Nor may all of the three have come to the gate.
            wait_until { $backend->release('gate'); !grep { $_->quiet(0.001) } @open } what => "responses, $what";
            $_->response for @open;
            $all
        } what => "three slots, $what";
        pass "$what, $uri: three slots, and no more";
    }
    my $left = sub { grep { /^[1-9]/ } map { values %{$redis->hash("rl:$_/n:$key")} } qw(concurrency second) };
    wait_until { !$left->() } what => "Redis to hold none, $what";
    return;
}

$nginx->parallel(connections => 20, requests => 100, uri => '/x?k=first');
for my $round (1 .. 4) {
    for my $how (qw(answers questions)) {
        my $key = "$how$round";
        $proxy->stall($how);
        my $before = $proxy->relayed('questions');
        my @open = map { $nginx->begin("/$_?k=$key") } qw(slow two/slow) x 6;
        my $http = RateLimit::HTTP->new(port => $nginx->port(1));
        $http->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(4, 0, 0, '') . join '', map { ask(2 * $_ - 1, "/slow?k=$key") } 1 .. 10);
        wait_until { $proxy->relayed('questions') > $before } what => 'a call' if $how eq 'answers' && $round % 2;
        $http->send(join '', map { frame(3, 0, 2 * $_ - 1, pack 'N', 8) } 1 .. 10);
        $_->abort for @open;
        $http->close;
        all_gone() if $round != 4;
        $proxy->flow;
        all_gone();
        all_free("they left while $how were kept back, round $round", $key);
    }
}

$redis->freeze;
my @open = map { $nginx->begin("/$_?k=frozen") } qw(slow two/slow) x 5;
let_pass(0.1);
$_->abort for @open;
all_gone();
$redis->thaw;
wait_until { $nginx->get('/x?k=other')->status == 200 } what => 'Redis to be asked again';
all_free('they left while it was frozen', 'frozen');

for (1 .. 20) {
    my @all = map { $nginx->begin('/large?k=large') } 1 .. 3;
    sysread $_->socket, my $some, 1000 for @all;
    $_->abort for @all;
}
all_free('they left while they were answered', 'large');

done;
