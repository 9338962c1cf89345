# A plain command for a bucket that a cluster's node sends elsewhere: the other node's clock may be another, so that the script follows there.

use RateLimit::Test;
use Time::HiRes ();

my $token = 50_000_000;    # 20 a second: the bucket may be full at the next request
my $mark  = -9223372036854775807 - 1;
my @ports = map { free_port() } 1 .. 2;
my @nodes = map {
    my $other = $ports[1 - $_];
    RateLimit::FakeRedis->start(port => $ports[$_], handler => sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots([0, 16383, '127.0.0.1:' . $ports[$conn->state('owner') // 0]]) if $command eq 'cluster';
        return fallback($words) if $command !~ /^(?:eval(?:sha)?|bitfield)$/;
        return error("MOVED 1 127.0.0.1:$other") if $conn->state('moved');
        return array(map { integer($_) } 1, 99, $token, 0, int(Time::HiRes::time() * 1e6), 0, 0) if $command ne 'bitfield';
        return array(integer(0), integer($mark + $words->[11]));
    });
} 0, 1;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$ports[0]; @{[timeouts('9s')]} }",
    server => 'location / { rate_limit 20r/s burst=100 store=main key=k; }',
);
sub plain ($node) { return scalar(() = $node->commands('bitfield')) }

wait_until { $nginx->get('/x'); plain($nodes[0]) >= 5 } what => 'plain commands';
$nodes[0]->set(moved => 1);
$_->set(owner => 1) for @nodes;
my $before = plain($nodes[0]);
wait_until { $nginx->get('/x')->status == 200 && plain($nodes[0]) > $before } what => 'one that has to follow';
my ($first) = grep { $_->[0] =~ /^(?:eval(?:sha)?|bitfield)$/ } $nodes[1]->commands;
like $first->[0], qr/^eval/, 'the other node is asked by the script';
wait_until { $nginx->get('/x')->status == 200 && plain($nodes[1]) >= 5 } what => 'plain commands there, by its own clock';
is $nginx->count_log(qr/could not be checked: (?!the primary of the shard is not up)/), 0, 'nobody is left without an answer, when the map is known';

done;
