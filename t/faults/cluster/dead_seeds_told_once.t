# While no node of a cluster can be asked for the map the log says so once, and why, however many nodes are tried and how often; and it says
# when one can.

use RateLimit::Test;

my @ports = map { free_port() } 1 .. 12;
my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_redis main { cluster ' . join(' ', map { "127.0.0.1:$_" } @ports) . '; check_timeout 5s; connect_timeout 5s; }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/d; }',
);
$nginx->wait_log(qr/the cluster of "main" does not tell its map: a node cannot be asked \(127.0.0.1:\d+: .*refused/i);
is outcome($nginx->get('/?k=a')), '200 ERROR_ALLOWED', 'by rate_limit_on_error';
let_pass(3);
is $nginx->count_log(qr/does not tell its map/), 1, 'one line tells it';
is $nginx->count_log(qr/is down|does not serve/), 0, 'and none for each node';
my $node = RateLimit::FakeRedis->start(port => $ports[0], handler => sub ($words, $conn) {
    return cluster_slots([0, 16383, "127.0.0.1:$ports[0]"]) if $words->[0] eq 'cluster';
    return $words->[0] eq 'hmget' ? hmget(undef, undef) : $words->[0] eq 'hincrby' ? integer(5) : fallback($words);
});
wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } timeout => 20, what => 'the map';
is $nginx->count_log(qr/the cluster of "main" tells its map again/), 1, 'one tells when it ends';

done;
