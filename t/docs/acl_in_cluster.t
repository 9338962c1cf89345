# docs/redis.md: the user that it shows, with what it adds for a cluster, may do all that the module asks for there, and each of these rights
# is used.

use RateLimit::Test;

my $document = project_file('docs/redis.md');
my ($acl)    = code($document, 'acl') =~ /^(user nginx .*)$/m;
my ($more)   = code($document, 'acl in a cluster') =~ /^(\+.*)$/m;
my @granted  = $more =~ /\+([\w|]+)/g;
my $cluster  = RateLimit::Cluster->start(node_timeout => 5000, redis => {acl => ['user default on nopass ~* &* +@all', "$acl $more"]});
my $nginx    = RateLimit::Nginx->start(
    http   => $cluster->block('main', 'username nginx; password secret; fresh off; ' . timeouts('9s')),
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location / { rate_limit 1000r/d; } location /reserve { rate_limit 1000r/d name=reserved mode=charge_refund; }',
);
my $client = $nginx->http;
wait_until { $client->get('/reserve?k=first')->status == 200 } what => 'the map';

my $slot = $cluster->slot_of('rl:reserved/86400:moving');
my $from = $cluster->node_of($slot);
my ($to) = grep { $_ != $from } $cluster->primaries;
$cluster->begin_migration($from, $to, $slot);
is $client->get('/reserve?k=moving')->status, 200, 'a key of a slot that moves';
$cluster->migrate_slots($from, $to, $slot);
my ($replica) = $cluster->replicas_of('rl:default/86400:promoted');
wait_until { $client->get('/?k=promoted')->status == 200 && $replica->calls('hmget') } what => 'a replica to be asked';
$cluster->failover($replica);
is $client->get('/reserve?k=promoted')->status, 200, 'after a failover';
wait_until { $replica->calls('readwrite') } what => 'its connection to be that of a primary';

is_deeply [map { @{$_->cmd('ACL', 'LOG')} } $cluster->nodes], [], 'no node has refused anything';
for my $right (@granted) {
    ok scalar(grep { $_->calls($right) } $cluster->nodes), "$right is used";
}
is $nginx->count_log(qr/NOPERM/), 0, 'nothing is missed';

done;
