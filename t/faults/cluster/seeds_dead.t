# Row 26 of the fault matrix. While half of the nodes that "cluster" names are down nginx starts, and finds the map; when all of them are
# gone later, the map that another node tells goes on, also after a change of it.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(primaries => 3, replicas => 1, node_timeout => 3000);
my @dead    = map { free_port() } 1 .. 2;
my @proxies = map { RateLimit::Proxy->start(to => $_->port) } ($cluster->primaries)[0, 1];
my $seeds   = join ' ', map { "127.0.0.1:$_" } @dead, map { $_->port } @proxies;
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => "rate_limit_redis main { cluster $seeds; @{[timeouts('9s')]} }",
    server  => 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location / { rate_limit 1000r/d mode=charge_refund; }',
);
my $client = $nginx->http;
my sub passing () { return scalar grep { $client->get("/?k=$_")->status == 200 } 1 .. 20 }

my $begun = monotonic();
wait_until { passing() == 20 } what => 'the map';
cmp_ok monotonic() - $begun, '<', patience(6), 'the map is found soon';
$_->stop for @proxies;
is passing(), 20, 'all keys are served without any seed';
my ($replica) = $cluster->replicas_of('rl:default/86400:1');
$cluster->failover($replica);
is passing(), 20, 'and after a failover';
$begun = monotonic();
my $new = $cluster->primary_of('rl:default/86400:1');
$new->kill;
$cluster->wait_promoted($new);
wait_until { passing() == 20 } timeout => 20, what => 'the map after another one, that nobody is there to MOVE to';
diag sprintf 'all served %.1f s after the kill', monotonic() - $begun;
wait_until { sum0(map { $cluster->used($_, 'default/86400') } 1 .. 20) >= 60 } what => 'what was counted';

done;
