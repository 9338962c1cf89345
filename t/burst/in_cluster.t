# A token bucket in a cluster, while its slot moves and its primary is replaced: plain commands follow the slot, or leave it to the script
# where the node has another clock; all that passes is taken once.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 1, node_timeout => 15_000);
my $nginx   = RateLimit::Nginx->start(
    http   => $cluster->block('main', timeouts('9s')) . 'rate_limit_key $http_x_key; rate_limit_store main;',
    server => 'location / { rate_limit 1r/m burst=1000; }',
);
my $client = 'a';
my $name   = "rl:default/60b:$client";
my $slot   = $cluster->slot_of($name);
my $passed = 0;
sub ask ($times) { $passed += grep { $nginx->get('/x', 'X-Key' => $client)->status == 200 } 1 .. $times }
sub taken () { return int((($cluster->primary_of($name)->bucket($name))[0] // 0) / 60e9 + 0.999) }
sub plain () { return sum0(map { $_->calls('bitfield') } $cluster->up) }

ask(20);
is taken(), $passed, 'taken once';
cmp_ok plain(), '>=', 10, '... by plain commands';

my $from = $cluster->primary_of($name);
my ($to) = grep { $_ != $from } $cluster->primaries;
$cluster->begin_migration($from, $to, $slot, $name);
ask(20);
is int(($to->ask('ASKING') && ($to->pipeline(['ASKING'], ['STRLEN', $name]))[1])), 24, 'while it moves';
$cluster->migrate_slots($from, $to, $slot);
$_->forget_calls for $cluster->up;
ask(20);
is taken(), $passed, 'when it has moved';
cmp_ok plain(), '>=', 10, '... by plain commands';

my ($replica) = $cluster->replicas_of($name);
$replica->wait_synced;
$cluster->failover($replica);
ask(20);
wait_until { taken() == $passed } what => 'all to be taken at the replica, which is the primary now';
is $passed, 80, 'all passed';
$nginx->stop;
is taken(), $passed, '... and was taken once';
is $nginx->count_log(qr/in doubt|were dropped|are lost/), 0, 'nothing is lost';

done;
