# Row 22 of the fault matrix. A node that was a replica, then a primary, and is a replica again, sends those who do not know that to the new
# primary: no reservation meets an error.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $nginx   = RateLimit::Nginx->start(
    http   => $cluster->block('main', always_checks()),
    server => 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location /check { rate_limit 1000000r/d name=c; } location /reserve { rate_limit 1000r/d name=r mode=charge_refund; }',
);
my $client = $nginx->http;
my $first  = $cluster->primary_of('rl:r/86400:first');
my sub keys_of ($name) { return grep { $cluster->primary_of("rl:$name/86400:$_") == $first } 1 .. 60 }
my @keys   = keys_of('r');
my @others = keys_of('c');
my sub passes ($uri, @of) { return grep { $client->get("$uri?k=$_")->status == 200 } @of }
wait_until { passes('/reserve', 'first') } what => 'the map';
# A connection to the replica, too.
my ($second) = $cluster->replicas_at($first);
wait_until { passes('/check', @others) && $second->calls('hmget') } what => 'checks by the replica';

$cluster->failover($second);
is scalar(passes('/reserve', @keys[0 .. 4])), 5, 'reservations pass after a failover';
$cluster->failover($first);
is scalar(passes('/reserve', @keys[5 .. 9])), 5, 'reservations pass when the first one is the primary again';
is sum0(map { $cluster->used($_, 'r/86400') } @keys), 10, 'each is stored once';
is $nginx->count_log(qr/readonly|could not be checked/), 0, 'nobody asks a replica to write';

done;
