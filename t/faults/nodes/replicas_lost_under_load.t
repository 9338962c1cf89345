# Under load a replica is killed, frozen, cut off, separated from its primary: every check is answered by another node,
# a dead one costs later requests nothing, and it comes back to work.

use RateLimit::Test;

my $primary  = RateLimit::Redis->start;
my @replicas = map { RateLimit::Redis->start(replica_of => $primary) } 1 .. 2;
my $proxy    = RateLimit::Proxy->start(to => $replicas[1]->port);
my $nginx    = RateLimit::Traffic->nginx(
    http   => redis_block('main', [$primary, $replicas[0], $proxy], 'fresh off; read_from spread; check_timeout 3s; connect_timeout 3s;'),
    server => 'location / { rate_limit 1000000r/h store=main; }
        location /deny { rate_limit 1000000r/1s name=short store=main; rate_limit_on_error deny; }',
);
my $traffic = RateLimit::Traffic->start($nginx);
my %passes = (timeout => 3, passes => 1);

sub again ($redis, $what) {
    return wait_until { $redis->calls('hmget') > 10 } what => "the replica to be asked again: $what";
}

# Looks at requests that end after the node is known to be down, except those that were waiting for it. A request that asks the
# node waits for a third of check_timeout, that is 1 s.
sub costs_nothing ($what) {
    $traffic->more(20);
    my $mark = $traffic->mark;
    my $seen = $traffic->more(300)->since($mark);
    my $slow = grep { $_->{wait} >= patience(0.9) } @$seen;
    return cmp_ok $slow, '<=', @$seen / 100, "$what: once down it costs nothing ($slow slow of " . @$seen . ')';
}

$traffic->more(200);
$replicas[0]->kill;
$nginx->wait_log(qr/\Q@{[$replicas[0]->address]}\E of shard "a" of "main" is down/);
costs_nothing('killed');
$traffic->is_served('a replica killed', %passes);
$replicas[0]->restart;
again($replicas[0], 'restarted');
$traffic->is_served('restarted', %passes);

next_second();    # a node writes one line a second: a line that is awaited must find its second free
$replicas[0]->freeze;
$nginx->wait_log(qr/\Q@{[$replicas[0]->address]}\E of shard "a" of "main" does not serve: no answer in check_timeout/);
costs_nothing('frozen');
$traffic->is_served('a replica frozen', %passes);
$replicas[0]->thaw->forget_calls;
again($replicas[0], 'thawed');

$proxy->stall('answers');
$nginx->wait_log(qr/\Q@{[$proxy->address]}\E of shard "a" of "main" does not serve: no answer in check_timeout/);
$replicas[1]->forget_calls;
costs_nothing('silent');
is $replicas[1]->calls('hmget'), 0, 'a silent replica is sent no checks';
$traffic->is_served('a replica silent', %passes);
$proxy->flow;
again($replicas[1], 'answers flow');

$_->cmd(qw(REPLICAOF NO ONE)) for @replicas;
$traffic->more(300)->is_served('replicas without a primary', %passes);
next_second();
for (@replicas) {
    $_->cmd(qw(CONFIG SET replica-serve-stale-data no));
    $_->cmd('REPLICAOF', '127.0.0.1', RateLimit::Port::free_port());
}
$nginx->wait_log(qr/replica \Q@{[$_->address]}\E .* (?:does not serve|is down): masterdown/) for $replicas[0], $proxy;
$primary->forget_calls;
$traffic->more(300)->is_served('replicas that may not serve stale data', %passes);
cmp_ok $primary->calls('hmget'), '>', 200, 'the primary answers';
for (@replicas) {
    $_->cmd('REPLICAOF', '127.0.0.1', $primary->port);
    $_->wait_synced;
    $_->forget_calls;
}
again($_, 'linked again') for @replicas;

$primary->forget_calls;
for (1 .. 20) {
    $primary->cmd(qw(SCRIPT FLUSH));
    $traffic->more(20);
}
$traffic->is_served('scripts flushed', %passes);
cmp_ok $primary->calls('eval'), '>=', 1, 'they are sent again';

$traffic->stop;
$nginx->stop;    # the last request is logged after its response
my @passed = grep { $_->{uri} eq '/x' } @{$traffic->since(0)};
my $stored = sum0($primary->used_of('default/3600', RateLimit::Traffic->keys));
is $stored, @passed, 'every request is charged once';
is $traffic->unanswered, 0, 'every request got a response';
is $nginx->count_log(qr/dropped|in doubt|could not be checked|are lost/), 0, 'nothing was lost';

done;
