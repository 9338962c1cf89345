# The console tells all nodes of a cluster's map in the shard `cluster`, also those that nobody has asked anything, each with its own counts. One that left is
# told for an hour.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(node_timeout => 5000);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    clock   => 1,
    http    => $cluster->block('main', always_checks()),
    server  => 'rate_limit_key $arg_k; rate_limit_store main;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 100000r/d name=n; }',
);
my sub shards () { my ($store) = @{$nginx->told->{stores}}; return @{$store->{shards}} }
my sub nodes ()        { return map { @{$_->{nodes}} } shards() }
my sub roles ()        { return {map { $_->{address} => $_->{role} } nodes()} }
my sub node ($server)  { my ($node) = grep { $_->{address} eq $server->address } nodes(); return $node }
my sub in_cluster ()   { return {(map { $_->address => 'primary' } $cluster->primaries), (map { $_->address => 'replica' } $cluster->replicas)} }
my sub equal ($a, $b)  { return "@{[map { ($_, $a->{$_}) } sort keys %$a]}" eq "@{[map { ($_, $b->{$_}) } sort keys %$b]}" }

# A node that has only heard of another one leaves it out of its map, and the next map is asked for 15 s later.
wait_until { nodes() == 6 } timeout => 40, what => 'the map';
wait_until { equal(roles(), in_cluster()) } what => 'the roles';
is_deeply [map { $_->{name} } shards()], ['cluster'], 'one shard';
ok !(grep { !$_->{up} || $_->{commands} || grep { $_ } values %{$_->{errors}} } nodes()), 'all are up, with nothing counted';

my $requests = 60;
my @keys     = map { "k$_" } 1 .. $requests;
is_deeply statuses(map { $nginx->get("/?k=$_") } @keys), {200 => $requests}, 'requests pass';
my sub commands ($role) { return {map { $_->{address} => $_->{commands} } grep { $_->{role} eq $role && $_->{commands} } nodes()} }
# A check that takes too long goes to the primary, too, as does one of a worker that has not reached the replica yet.
my sub checks (@nodes) { return sum0(map { $_->calls('hmget') } @nodes) }
wait_until { sum0(values %{commands('primary')}) == $requests + checks($cluster->primaries) } what => 'all charges to be counted';
my $read = sum0(values %{commands('replica')});
is $read, checks($cluster->replicas), 'each check is counted at a replica, each charge at a primary';
cmp_ok $read + checks($cluster->primaries), '>=', $requests, '... and each was asked for';

# One more node comes and goes. Workers ask for the map when they are told that a slot has moved.
my $slot = $cluster->slot_of('rl:n/86400:moved');
my sub move_slot () {
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->migrate_slots($from, $to, $slot);
    return $nginx->get('/?k=moved');
}
my $guest = $cluster->add_node(replica_of => ($cluster->primaries)[0]);
move_slot();
wait_until { $nginx->get('/?k=' . rand) for 1 .. 10; (node($guest) // {})->{commands} } timeout => 40, what => 'the new node to be asked';
is node($guest)->{role}, 'replica', 'a node that joins is told';
my $of_guest = qr/replica \Q@{[$guest->address]}\E of "main"/;
my sub workers_that_say ($what) { return map { /(\d+)#\d+: .*$of_guest $what/ ? $1 : () } split /\n/, $nginx->error_log }
$guest->kill;
wait_until { $nginx->get('/?k=' . rand) for 1 .. 10; workers_that_say('is down') } what => 'its loss to be noticed, before there is a map without it';
$cluster->remove_node($guest);
move_slot();
# A worker that was asking it says when the map does not name it any more.
wait_until {
    $nginx->get('/?k=' . rand) for 1 .. 10;
    my %done = map { $_ => 1 } workers_that_say('is not used any more');
    !grep { !$done{$_} } workers_that_say('is down');
} timeout => 40, what => 'the map without it';
ok node($guest), 'one that has left still is';

my $metrics = $nginx->get('/limits/metrics')->body;
like $metrics, qr/^nginx_rate_limit_node_commands_total\{store="main",shard="cluster",node="\Q@{[$_->address]}\E"\} \d+$/m, 'metrics name it' for $guest, $cluster->primaries;

my $before = commands('primary');
$nginx->travel('+3000');
wait_until { $nginx->get('/?k=x'); node($cluster->primary_of('x')) } what => 'nodes to be seen';
ok node($guest), 'after 50 minutes it is told';
$nginx->travel('+7500');
wait_until { nodes() == 6 && !node($guest) } what => 'the node to be dropped from the output';
pass 'over an hour later it is not';
unlike $nginx->get('/limits/metrics')->body, qr/\Q@{[$guest->address]}\E/, '... in the metrics neither';
cmp_ok node($_)->{commands}, '>=', $before->{$_->address}, 'the others go on' for $cluster->primaries;

done;
