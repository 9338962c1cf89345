# Row 27 of the fault matrix. A node that is cut off from the others goes on telling an old map. What MOVED says of a slot counts at once,
# for all workers, and no such map undoes it; but it does not hold for ever against all maps.

use RateLimit::Test;

my @ports = (free_port(), free_port(), free_port());
my $slot  = RateLimit::Cluster->slot_of("{moves}");

# The first node tells that it has all slots, and sends keys of the one that has moved to the second one. When it has done so, its map
# has news of something else: a replica, the third node, which knows no better. Workers drop a map that has no news.
my sub handler ($me) {
    my $has_replica = $me == 2;
    return sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots([0, 16383, map { "127.0.0.1:$ports[$_]" } 0, $has_replica ? 2 : ()]) if $command eq 'cluster';
        my $asked = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        if ($me != 1 && $asked == $slot) {
            $has_replica = 1;
            return error("MOVED $slot 127.0.0.1:$ports[1]");
        }
        return $command eq 'hmget' ? hmget(undef, undef) : $command eq 'hincrby' ? integer(5) : array(integer(1), integer((time + 1800) . '000'));
    };
}
my @nodes = map { RateLimit::FakeRedis->start(port => $ports[$_], handler => handler($_)) } 0 .. 2;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => "rate_limit_redis main { cluster 127.0.0.1:$ports[0]; check_timeout 2s; connect_timeout 9s; charge_timeout 20s; }",
    server  => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; add_header X-Worker $pid always;
        location / { rate_limit 1000r/h; }',
);
my %client;    # one of each worker
wait_until {
    my $client = $nginx->http;
    $client{$client->get('/?k=other')->header('X-Worker')} //= $client;
    keys %client == 2
} what => 'a connection to each worker';
wait_until { !grep { outcome($_->get('/?k=other')) ne '200 PASSED' } values %client } what => 'all workers to know the map';
my sub sent_there ()      { return scalar grep { "@$_" =~ /\{moves\}/ } map { $_->commands } @nodes[0, 2] }
my sub charged ($key)  { return $nodes[1]->charged->{"rl:default/3600:$key"} // 0 }

my ($one, $other) = values %client;
my $begun = monotonic();
my sub most () { return 1 + int((monotonic() - $begun) / 5) }
is outcome($one->get('/?k={moves}a')), '200 PASSED', 'a key whose slot has moved';
wait_until { charged('{moves}a') } what => 'its charge';
is outcome($other->get('/?k={moves}b')), '200 PASSED', 'another worker';
wait_until { charged('{moves}b') } what => 'its charge';
cmp_ok sent_there(), '<=', most(), 'one command was sent to the node that had the slot';

my $keys = 0;
wait_until {
    $_->get('/?k=other' . ++$keys) for values %client;
    $nodes[2]->commands('readonly') == 2
} what => 'all workers to know the newer map of the node, and so its replica';
for my $client (values %client) {
    is outcome($client->get("/?k={moves}$_")), '200 PASSED', 'a further key' for 1 .. 5;
}
wait_until { charged('{moves}5') == 2 } what => 'all charges';
cmp_ok sent_there(), '<=', most(), 'no map of it has undone what it said itself';

wait_until {
    outcome($one->get('/?k={moves}c')) eq '200 PASSED' && sent_there() > 1
} what => 'the map to count again', timeout => 20;

done;
