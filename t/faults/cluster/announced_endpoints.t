# Row 29 of the fault matrix. A node that announces a name is asked for at what that resolves to.
# nightly

use RateLimit::Test;

my $port  = free_port();
my $reset = (time + 1800) . '000';
my $node  = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
    my $command = $words->[0];
    return cluster_slots([0, 16383, ['node.test', $port]]) if $command eq 'cluster';
    return hmget(undef, undef) if $command eq 'hmget';
    return $command eq 'hincrby' ? integer(5) : $command eq 'evalsha' ? array(integer(1), integer($reset)) : fallback($words);
});
my $dns   = RateLimit::Dns->start(names => {'node.test' => '127.0.0.1'});
my $nginx = RateLimit::Nginx->start(
    http   => 'resolver ' . $dns->address . " ipv6=off; rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 5s; connect_timeout 5s; fresh off; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/d; }',
);
wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } what => 'the name to be resolved';
pass 'it is';

done;
