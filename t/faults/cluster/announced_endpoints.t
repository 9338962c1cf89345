# Row 29 of the fault matrix. Nodes that announce no endpoint, are asked for at the host that told the map; those that announce a name, at what it resolves
# to; those that should and have none cannot be reached, and the log says so.
# nightly

use RateLimit::Test;

my $port  = free_port();
my $reset = (time + 1800) . '000';
my %maps = (
    unknown => [undef, $port],
    empty   => ['', $port],
    name    => ['node.test', $port],
    lost    => ['?', $port],
);
my $node = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return cluster_slots([0, 16383, $maps{$conn->state('map')}]) if $command eq 'cluster';
    return $conn->state('redirect') ? error($conn->state('redirect')) : hmget(undef, undef) if $command eq 'hmget';
    return $command eq 'hincrby' ? integer(5) : $command eq 'evalsha' ? array(integer(1), integer($reset)) : fallback($words);
});
my $dns = RateLimit::Dns->start(names => {'node.test' => '127.0.0.1'});
my sub start ($map, $more = '') {
    $node->set(map => $map);
    $node->set(redirect => '');
    return RateLimit::Nginx->start(
        http   => "$more rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 5s; connect_timeout 5s; fresh off; }",
        server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/d; }',
    );
}
my sub passes ($nginx, $what) {
    wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } what => $what;
    return pass($what);
}
for my $map ('unknown', 'empty') {
    my $nginx = start($map);
    passes($nginx, "$map: at the host that was asked");
    my $slot = RateLimit::Cluster->slot_of('rl:default/86400:b');
    for my $redirect ("MOVED $slot ?:$port", 'MOVED x', 'MOVED 99999 127.0.0.1:1', "MOVED $slot", "MOVED $slot :0", "ASK $slot ?:1", "MOVED $slot ::1:99999") {
        $node->set(redirect => $redirect);
        is outcome($nginx->get('/?k=b')), '200 ERROR_ALLOWED', "$redirect leads nowhere";
    }
    $node->set(redirect => '');
    passes($nginx, 'and nothing else comes of it');
    is $nginx->count_log(qr/exited on signal/), 0, 'the worker lives';
    $nginx->stop;
}
passes(start('name', 'resolver ' . $dns->address . ' ipv6=off;'), 'a name is resolved');
my $nginx = start('name');
$nginx->wait_log(qr/primary node.test:$port of "main" is down: its name cannot be resolved: add "resolver" to "http"/) if $nginx->get('/?k=a');
is outcome($nginx->get('/?k=a')), '200 ERROR_ALLOWED', 'without a resolver it cannot be reached';
$nginx = start('lost');
$nginx->wait_log(qr/names 1 nodes without an address: set cluster-announce-hostname, or cluster-preferred-endpoint-type ip/);
is outcome($nginx->get('/?k=a')), '200 ERROR_ALLOWED', 'what has no name cannot be reached';

done;
