# Row 31 of the fault matrix. A node sends commands of a slot that leaves it, by ASK, to what is a replica by the map. That replica does not become the
# primary of all that its own primary serves; the commands are tried again, and arrive once when ASK names the primary.

use RateLimit::Test;

my ($from, $to, $replica) = (free_port(), free_port(), free_port());
my $slot = RateLimit::Cluster->slot_of('{leaves}');
my $half = $slot < 8192 ? [[0, 8191, $from], [8192, 16383, $to]] : [[8192, 16383, $from], [0, 8191, $to]];

my sub handler ($me) {
    return sub ($words, $conn) {
        my $command = $words->[0];
        if ($command eq 'cluster') {
            return cluster_slots(map { [@$_[0, 1], "127.0.0.1:$_->[2]", $_->[2] == $to ? "127.0.0.1:$replica" : ()] } @$half);
        }
        my $asked = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        return error("ASK $slot 127.0.0.1:" . ($conn->state('right') ? $to : $replica)) if $me == $from && $asked == $slot;
        return error("MOVED $asked 127.0.0.1:$to") if $me == $replica && $command ne 'hmget';
        return hmget(undef, undef) if $command eq 'hmget';
        return $command eq 'hincrby' ? integer(5) : array(integer(1), integer((time + 1800) . '000'));
    };
}
my %node = map { $_ => RateLimit::FakeRedis->start(port => $_, handler => handler($_)) } $from, $to, $replica;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$from; check_timeout 2s; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/h; }',
);
my $client = $nginx->http;
my ($other) = grep { my $s = RateLimit::Cluster->slot_of("{$_}"); ($s < 8192) != ($slot < 8192) } 'a' .. 'z';
wait_until { outcome($client->get("/?k={$other}")) eq '200 PASSED' } what => 'the map';
$_->forget for values %node;
my $requests = 50;
for (1 .. $requests) {
    $client->get('/?k={leaves}');
    is outcome($client->get("/?k={$other}")), '200 PASSED', 'keys of the other primary are served';
}
my sub charged ($port, $key) { return sum0 map { $node{$port}->charged->{$_} } grep { /\Q{$key}\E/ } keys %{$node{$port}->charged} }
wait_until { charged($to, $other) >= $requests } what => 'charges of the other key';
is scalar($node{$replica}->writes), 0, 'its replica gets no write';
$node{$from}->set(right => 1);
wait_until { charged($to, 'leaves') >= $requests } what => 'what waited to arrive';
$nginx->stop;
is charged($to, 'leaves'), $requests, '... once';

done;
