# The console tells the nodes that sentinels name, each with its own counts; after a failover the roles are the new ones, and each node goes on from
# its counts, also over a reload.

use RateLimit::Test;
use JSON::PP;

my $set   = RateLimit::Sentinels->start(masters => {mymaster => {replicas => 1}});
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => $set->block('main', always_checks()),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error local;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 100000r/h name=n; }',
);
my sub nodes () { my ($store) = @{$nginx->told->{stores}}; return map { @{$_->{nodes}} } @{$store->{shards}} }
my sub node ($server) { my ($node) = grep { $_->{address} eq $server->address } nodes(); return $node }
my sub roles () { return {map { $_->{address} => $_->{role} } nodes()} }

my ($primary, $replica) = $set->servers('mymaster');
my %roles = ($primary->address => 'primary', $replica->address => 'replica');
wait_until { nodes() == 2 } what => 'sentinels to be heard';
is_deeply roles(), \%roles, 'the nodes by the word of the sentinels';
ok !(grep { !$_->{up} || $_->{commands} || grep { $_ } values %{$_->{errors}} } nodes()), 'all up, with nothing counted';

my $requests = 40;
is_deeply statuses(map { $nginx->get("/?k=$_") } 1 .. $requests), {200 => $requests}, 'requests pass';
# A check that takes too long goes to the primary, too, as does one of a worker that has not reached the replica yet.
wait_until { node($primary)->{commands} == $requests + $primary->calls('hmget') } what => 'charges to be counted at the primary';
wait_until { node($replica)->{commands} == $replica->calls('hmget') } what => 'checks to be counted at the replica';
cmp_ok node($replica)->{commands} + $primary->calls('hmget'), '>=', $requests, 'each was asked for';
my $read = node($replica)->{commands};

$set->failover('mymaster');
wait_until { node($replica)->{role} eq 'primary' && node($primary)->{role} eq 'replica' } what => 'the roles of the new topology';
cmp_ok node($primary)->{commands}, '>=', $requests, 'counts go on';
cmp_ok node($replica)->{commands}, '>=', $read, '... of both';
my $metrics = $nginx->get('/limits/metrics')->body;
my @primary = map { /^nginx_rate_limit_node_role\{store="main",shard="\w+",node="([^"]+)"\} 1$/m } split /\n/, $metrics;
is_deeply \@primary, [$replica->address], 'metrics name one primary';

# Sentinels name the old primary as a replica once it follows the new one.
my $checks = node($primary)->{commands};
wait_until { $nginx->get('/?k=' . rand); node($primary)->{commands} > $checks } what => 'the old primary to be asked as a replica';
$primary->kill;
wait_until { $nginx->get('/?k=' . rand); my $node = node($primary); !$node->{up} && $node->{errors}{connection} } what => 'the old primary to be held for down';
is node($replica)->{errors}{connection}, 0, 'errors are those of their node';
is node($replica)->{up}, JSON::PP::true, '... and so is the state';

# Each worker may have charges on their way.
my sub counts () { return {map { $_->{address} => $_->{commands} } nodes()} }
my $before;
wait_until { my $last = $before; $before = counts(); $last && $last->{$replica->address} == $before->{$replica->address} } what => 'nothing to be on its way';
$nginx->reload(wait_old => 1);
wait_until { defined node($replica) } what => 'the nodes';
my $after = counts();
cmp_ok $after->{$_->address}, '>=', $before->{$_->address}, 'counts survive a reload' for $primary, $replica;

done;
