# Charges that wait before any map of the cluster is known, and for which rate_limit_zone has no room, reach the nodes when they are known.

use RateLimit::Test;

my $port  = free_port();
my $reset = (time + 80_000) . '000';
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_zone 1m; rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 2s; connect_timeout 2s; charge_timeout 9s; }",
    server => 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/d; }',
);
my $count  = 3000;
my $counts = RateLimit::Flood->start(port => $nginx->port, uris => [map { "/?k=$_" } 1 .. $count], requests => $count, connections => 1)->counts;
is $counts->{2}, $count, 'requests are admitted by rate_limit_on_error';
my $node = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
    my $command = $words->[0];
    return cluster_slots([0, 16383, "127.0.0.1:$port"]) if $command eq 'cluster';
    return array(integer(1), integer($reset)) if $command =~ /^eval/;
    return $command eq 'hmget' ? hmget(undef, undef) : $command eq 'hincrby' ? integer(5) : fallback($words);
});
my sub charged () { return scalar keys %{$node->charged} }
wait_until { charged() >= $count } what => 'all charges to arrive', timeout => 60;
is charged(), $count, 'each window is charged';
is sum0(values %{$node->charged}), $count, '... once';
$nginx->stop;
is $nginx->count_log(qr/in doubt|were dropped|are lost/), 0, 'nothing is lost';

done;
