# A map that takes two seconds to arrive is taken, though all the time requests are refused, and the map is asked for again.

use RateLimit::Test;

my @ports = (free_port(), free_port());
my @maps  = map { cluster_slots([0, 16383, "127.0.0.1:$_"]) } @ports;
my @nodes = map {
    my $me = $_;
    RateLimit::FakeRedis->start(port => $ports[$me], handler => sub ($words, $conn) {
        my $moved = $conn->state('moved');
        return $moved ? $conn->later(2, $maps[1]) : $maps[0] if $words->[0] eq 'cluster';
        return fallback($words) if !defined RateLimit::Cluster->slot_of_command($words);
        return error('CLUSTERDOWN The cluster is down') if $me == 0 && $moved;
        return $words->[0] eq 'hincrby' ? integer(1) : array(map { integer($_) } 1, 1, time + 1800 . '000');
    })
} 0, 1;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$ports[0]; @{[timeouts('9s')]} }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h mode=charge_refund; }',
);
my sub ask () { return outcome($nginx->get('/?k=a')) }
wait_until { ask() eq '200 PASSED' } what => 'the map';
$_->set_and_forget(moved => 1) for @nodes;
is ask(), '503 ERROR_DENIED', 'the node refuses';
wait_until { ask() eq '200 PASSED' } timeout => 40, what => 'the new map';
cmp_ok scalar $nodes[0]->commands('cluster'), '>', 2, 'which was asked for several times: ' . $nodes[0]->commands('cluster');
ok scalar $nodes[1]->writes, 'the other node is asked';
is $nginx->count_log(qr/has 1 primaries now; new: 127\.0\.0\.1:$ports[1];/), 1, 'the log tells of it';

done;
