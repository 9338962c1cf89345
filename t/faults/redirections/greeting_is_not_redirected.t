# A node that answers PING, READONLY and the like by MOVED or ASK does not send a worker elsewhere with them: it cannot be used, the log says why,
# and the worker lives when the node leaves the map.

use RateLimit::Test;

my ($odd, $good, $stranger) = map { free_port() } 1 .. 3;
my %handler = (
    odd => sub ($words, $conn) {
        return $conn->state('word') . " 1 127.0.0.1:$stranger\r\n";
    },
    good => sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots($conn->state('left') ? [0, 16383, "127.0.0.1:$good"] : [0, 16383, "127.0.0.1:$good", "127.0.0.1:$odd"]) if $command eq 'cluster';
        return $conn->state('left') ? hmget(undef, undef) : error("CLUSTERDOWN Hash slot not served") if $command eq 'hmget';
        return $command eq 'hincrby' ? integer(5) : fallback($words);
    },
);
my %node = (
    odd      => RateLimit::FakeRedis->start(port => $odd,  handler => $handler{odd}),
    good     => RateLimit::FakeRedis->start(port => $good, handler => $handler{good}),
    stranger => RateLimit::FakeRedis->start(port => $stranger),
);
for my $word ('-MOVED', '-ASK') {
    $node{odd}->set(word => $word);
    $node{good}->set(left => '');
    my $nginx = RateLimit::Nginx->start(
        http   => "rate_limit_redis main { cluster 127.0.0.1:$good; check_timeout 1s; connect_timeout 500ms; charge_timeout 1s; fresh off; }",
        server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/d; }',
    );
    wait_until { $nginx->get('/?k=a'); $node{odd}->commands } what => 'the odd node to be greeted';
    $nginx->wait_log(qr/replica 127.0.0.1:$odd of "main" is down/);
    $node{good}->set(left => 1);
    wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } what => "$word: the map without it", timeout => 20;
    let_pass(1);
    is outcome($nginx->get('/?k=a')), '200 PASSED', "$word: the worker lives";
    is $nginx->count_log(qr/exited on signal/), 0, '... the one from before';
    $nginx->stop;
    $_->forget for $node{odd};
}
is scalar($node{stranger}->commands), 0, 'nobody was sent elsewhere';

done;
