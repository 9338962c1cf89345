# Charges that wait for a cluster without a map, and for which rate_limit_zone has no room, expire and are told when their windows close: they
# are not charged to the next windows.

use RateLimit::Test;

my $port  = free_port();
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_zone 1m; rate_limit_redis main { cluster 127.0.0.1:$port; check_timeout 2s; connect_timeout 2s; charge_timeout 9s; }",
    server => 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/s; }',
);
my $count  = 3000;
my $counts = RateLimit::Flood->start(port => $nginx->port, uris => [map { "/?k=$_" } 1 .. $count], requests => $count, connections => 1)->counts;
my $end    = now + 1;
is $counts->{2}, $count, 'requests are admitted by rate_limit_on_error';
wait_until { now > $end } what => 'the end of all windows';
my $node = RateLimit::FakeRedis->start(port => $port, handler => sub ($words, $conn) {
    my $command = $words->[0];
    return cluster_slots([0, 16383, "127.0.0.1:$port"]) if $command eq 'cluster';
    return array(integer(1), integer((time + 1) . '000')) if $command =~ /^eval/;
    return $command eq 'hmget' ? hmget(undef, undef) : $command eq 'hincrby' ? integer(5) : fallback($words);
});
my sub expired () { return sum0($nginx->error_log =~ /(\d+) charges for the cluster of "main" expired: their windows had closed/g) }
wait_until { expired() >= $count } what => 'all charges to expire', timeout => 60;
$nginx->stop;
is expired(), $count, 'each is told';
is sum0(values %{$node->charged}), 0, 'nothing is charged';
is $nginx->count_log(qr/in doubt|are lost/), 0, 'nothing is lost otherwise';

done;
