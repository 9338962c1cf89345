# While a slot moves to a node that is down, a check of it that the node of before does not answer itself ends at once, by
# rate_limit_on_error: it is not sent to and fro until check_timeout.

use RateLimit::Test;

my ($here, $there) = (free_port(), free_port());
my $moving = RateLimit::Cluster->slot_of('rl:default/3600:moving');
my $node = RateLimit::FakeRedis->start(port => $here, handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return cluster_slots([0, 16383, "127.0.0.1:$here"]) if $command eq 'cluster';
    return fallback($words) if $command ne 'hmget' && $command ne 'hincrby';
    return error($conn->state('word') . " $moving 127.0.0.1:$there") if RateLimit::Cluster->slot_of($arguments[0]) == $moving;
    return $command eq 'hmget' ? hmget(undef, undef) : integer(5);
});
$node->set(word => 'ASK');
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$here; check_timeout 9s; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; }',
);
my $client = $nginx->http;
wait_until { outcome($client->get('/?k=other')) eq '200 PASSED' } what => 'the map';
for my $word ('ASK', 'MOVED') {
    $node->set(word => $word);
    for my $round (1 .. 3) {
        $node->forget;
        my $begun = monotonic();
        is outcome($client->get('/?k=moving')), '200 ERROR_ALLOWED', "$word: by rate_limit_on_error";
        cmp_ok monotonic() - $begun, '<', patience(2), '... at once';
        my @checks = grep { "@$_" =~ /^hmget .*:moving/ } $node->commands;
        cmp_ok scalar(@checks), '<=', 2, '... and the node was asked for it once, or once more';
    }
}
is outcome($client->get('/?k=other')), '200 PASSED', 'other slots of the node are served';

done;
