# What "cluster" names is a server without cluster mode, a cluster without slots, a sentinel, no Redis, or refuses CLUSTER SLOTS: the log says which, once;
# requests go by rate_limit_on_error at once; when a cluster is there, nobody has to reload.

use RateLimit::Test;

my %kinds = (
    alone    => error('ERR This instance has cluster support disabled'),
    empty    => array(),
    sentinel => error("ERR unknown command 'CLUSTER', with args beginning with: 'SLOTS' "),
    http     => "HTTP/1.1 400 Bad Request\r\n\r\n",
    odd      => simple('OK'),
    noperm   => error("NOPERM this user has no permissions to run the 'cluster|slots' command"),
);
my %said = (
    alone    => qr/a node has "cluster-enabled no": name it in "shard", not in "cluster" \(127.0.0.1:\d+: CLUSTER SLOTS: "ERR /,
    empty    => qr/a node knows of no slots: is the cluster created\? \(127.0.0.1:\d+\)/,
    sentinel => qr/a node refuses it \(127.0.0.1:\d+: .*unknown command/,
    http     => qr/a node cannot be asked \(127.0.0.1:\d+: .+\)/,
    odd      => qr/a node answers what is no map: is it Redis\? \(127.0.0.1:\d+\)/,
    noperm   => qr/a node refuses it \(127.0.0.1:\d+: .*NOPERM.*cluster\|slots/,
);
for my $kind (sort keys %kinds) {
    my $port = free_port();
    my $node = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
        my $command = $words->[0];
        return $kinds{http} if $kind eq 'http' && !$conn->state('mended');
        return $conn->state('mended') ? cluster_slots([0, 16383, "127.0.0.1:$port"]) : $kinds{$kind} if $command eq 'cluster';
        return $command eq 'hmget' ? hmget(undef, undef) : $command eq 'hincrby' ? integer(5) : fallback($words);
    });
    my $nginx = RateLimit::Nginx->start(
        http   => "rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 5s; connect_timeout 5s; }",
        server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;
            location / { rate_limit 1000r/d; }',
    );
    $nginx->wait_log(qr/the cluster of "main" does not tell its map: $said{$kind}/);
    my $begun = monotonic();
    is outcome($nginx->get('/?k=a')), '200 ERROR_ALLOWED', "$kind: by rate_limit_on_error";
    cmp_ok monotonic() - $begun, '<', patience(2), '... at once';
    let_pass(0.5);
    is $nginx->count_log(qr/does not tell its map/), 1, '... the log says so once';
    $node->set(mended => 1);
    wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } timeout => 20, what => "$kind: the map";
    is $nginx->count_log(qr/tells its map again/), 1, '... and that it does now';
    $nginx->stop;
    $node->stop;
}

done;
