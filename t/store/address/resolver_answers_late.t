# A request does not wait for the resolver: it may take a new connection to the server that a name has just left. When the answer names
# another one, that connection is left for it, also while it is being made or greeted, and nothing is lost.

use IO::Socket::INET;
use RateLimit::Test;

my $name     = '127.1';
my $reserves = reserving((time + 1800) . '000');

# The old server takes connections, and does not answer the last word of the greeting while the state is "mute".
my sub serves ($words, $conn) { return $words->[0] eq 'ping' && $conn->state('mute') ? () : $reserves->($words, $conn) }

# A port at which nobody answers the first word of TCP: what may wait there to be accepted does already.
my sub deaf ($port) {
    my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 1, ReuseAddr => 1) or die "port $port: $@";
    my @waiting = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Blocking => 0) } 1 .. 4;
    return [$listener, @waiting];
}

for my $state ('in use', 'greeting', 'connecting') {
    my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
    my $old   = RateLimit::FakeRedis->start(handler => \&serves);
    my $new   = RateLimit::Redis->start(host => '127.0.0.2', port => $old->port);
    my $nginx = RateLimit::Nginx->start(
        http   => 'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $old->port, timeouts('10s')),
        server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
            location / { rate_limit 1000r/h name=r mode=charge_refund; } location /plain { rate_limit off; }',
    );
    is $nginx->get('/?k=before')->status, 200, "$state: at first";

    $dns->set($name => '127.0.0.2');
    $dns->freeze;
    $old->set(mute => $state eq 'greeting' ? 1 : 0);
    my @workers = $nginx->workers;
    kill STOP => @workers;    # it connects again by itself, and must not while nobody listens
    $state eq 'connecting' ? $old->stop : $old->drop;
    my $deaf = $state eq 'connecting' && deaf($old->port);
    kill CONT => @workers;
    is $nginx->get('/?k=there')->status, 200, '... the old one serves' if $state eq 'in use';
    my $request = $nginx->http;
    $request->start_request(GET => '/?k=meanwhile') if $state ne 'in use';
    wait_until { $old->commands('ping') == 2 } what => 'the greeting' if $state eq 'greeting';
    is $nginx->get('/plain')->status, 200, '... nginx has begun to connect';
    $dns->thaw;
    wait_until { () = $dns->records } what => 'a question';
    $dns->forget;    # when it has done so, it has answered
    is $nginx->get('/plain')->status, 200, '... nginx has read the answer';
    $request->start_request(GET => '/?k=meanwhile') if $state eq 'in use';
    is $request->response(timeout => 15)->status, 200, '... the request that waited passes';
    is $new->used('meanwhile', 'r/3600'), 1, '... at the server that the name leads to';
    is $nginx->get('/?k=after')->status, 200, '... and so does a later one';
    is $new->used('after', 'r/3600'), 1, '... there';
    is scalar(grep { $_->[0] eq 'evalsha' && "@$_" !~ /:(?:before|there) / } $old->commands), 0, '... the old one got nothing';
    $nginx->stop;
    is $nginx->count_log(qr/is down|does not serve|could not be checked|doubt|dropped/), 0, '... without an outage';
}

done;
