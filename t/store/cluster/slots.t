# A cluster: each window is on the node that serves its slot, reads go to replicas, and after the first map nobody is sent
# elsewhere.

use RateLimit::Test;
use RateLimit::Cluster;

my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main'),
    server  => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /lease { rate_limit 1000r/h name=l mode=lease; }',
);
my $client = $nginx->http;
my sub ask ($uri, $key) { return outcome($client->get($uri, 'X-Key' => $key)) }

wait_until { ask('/reserve', 'first') eq '200 PASSED' } what => 'the map';
$_->forget_calls for $cluster->nodes;
for my $key (map { "key$_" } 1 .. 30) {
    is ask($_, $key), '200 PASSED', "$_ passes for $key" for ('/', '/reserve', '/lease') x 2;
}
wait_until { 30 == grep { $cluster->used("key$_") == 2 } 1 .. 30 } what => 'the charges';
is $cluster->used("key$_", 'r/3600'), 2, "reservations of key$_" for 1 .. 30;
my $owner = $cluster->primary_of('rl:default/3600:key1');
is $client->get('/', 'X-Key' => 'key1')->header('X-Shard'), $owner->address, 'the shard is the address of the primary';
cmp_ok sum0(map { $_->calls('hmget') } $cluster->replicas), '>', 0, 'replicas are read';
$nginx->stop;
is $nginx->count_log(qr/moved|doubt|dropped|is down|does not/), 0, 'nothing went wrong';

done;
