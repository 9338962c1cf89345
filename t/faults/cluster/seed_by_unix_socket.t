# A node that "cluster" names by its unix socket, and that does not know its own address, means "the host that you asked": nobody knows which. The log
# says what to do; when the node has an address, it is used.

use RateLimit::Test;

my $node = RateLimit::Redis->start(unixsocket => 1,
    args => ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-port', free_port()]);
$node->cmd('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
wait_until { $node->cmd('CLUSTER', 'INFO') =~ /cluster_state:ok/ } what => 'the cluster';
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster @{[$node->address]}; check_timeout 2s; connect_timeout 2s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/h; }',
);

$nginx->wait_log(qr/the cluster of "main" names 1 nodes without an address: .*; or write HOST:PORT in "cluster", where it has a unix socket/);
$nginx->wait_log(qr/the cluster of "main" does not tell its map: a node names no primary with an address \(unix:\S+\)/);
is outcome($nginx->get('/?k=a')), '200 ERROR_ALLOWED', 'nobody can be asked';
$node->cmd('CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1');
wait_until { outcome($nginx->get('/?k=a')) eq '200 PASSED' } what => 'the announced address';
is $nginx->count_log(qr/is it Redis/), 0, 'it is known to be Redis';

done;
