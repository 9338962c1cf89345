# Row 25 of the fault matrix. Under load a replica is added, is read from, and is removed: each request passes and is stored once, and no
# worker keeps a connection to it.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(primaries => 2, replicas => 0);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 2s; connect_timeout 2s; charge_timeout 2s; fresh off;'),
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;
        location / { rate_limit 1000000r/d; }',
);
wait_until { $nginx->http->get('/?k=1')->status == 200 } what => 'the map';
my @keys  = grep { $cluster->primary_of("rl:default/86400:$_") == ($cluster->nodes)[0] } 1 .. 50;
my $flood = sub ($requests) {
    return RateLimit::Flood->start(
        port => $nginx->port, uris => [map { "/?k=$_" } @keys], requests => $requests, connections => 4, rate => 50);
};
my $added = $cluster->add_node(replica_of => ($cluster->nodes)[0]);
$added->forget_calls;
my $client = $nginx->http;
my $sent   = 1;
# The map is asked for every 12 to 18 s.
wait_until { $client->get("/?k=$keys[0]"); $sent++; $added->calls('hmget') } what => 'the new replica to be read from', timeout => 30;
my $running = $flood->(2000);
wait_until { $added->calls('hmget') > 50 } what => 'it to be read from under load';
$_->cmd('CLUSTER', 'FORGET', $added->{id}) for grep { $_ != $added } $cluster->nodes;
my $counts = $running->counts;
is $counts->{2}, 2000, 'all requests pass' or diag explain $counts;
my sub clients () { return scalar grep { !/cmd=client/ } split /\n/, $added->cmd('CLIENT', 'LIST', 'TYPE', 'normal') }
wait_until { !clients() } what => 'connections to it to be closed', timeout => 30;
$added->forget_calls;
for (1 .. 50) { $client->get("/?k=$keys[0]"); $sent++ }
is $added->calls('hmget'), 0, 'it is not read from any more';
$nginx->stop;
is sum0(map { $cluster->used($_, 'default/86400') } 1 .. 50), 2000 + $sent, 'each is stored once';

done;
