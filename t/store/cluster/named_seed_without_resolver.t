# A cluster whose nodes announce no host is where its seed is. If that is a name, and there is no resolver, its nodes are at the addresses that
# the name had when nginx read its configuration, each at its own port; so is the one that MOVED names.

use RateLimit::Test;
use RateLimit::Cluster;

my $cluster = RateLimit::Cluster->start(primaries => 2, replicas => 1, node_timeout => 15_000);
$_->cmd('CONFIG', 'SET', 'cluster-preferred-endpoint-type', 'unknown-endpoint') for $cluster->nodes;
my $seed  = ($cluster->primaries)[0]->port;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster localhost:$seed; check_timeout 2s; connect_timeout 2s; fresh off; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
);
my $client = $nginx->http;
my sub all_pass ($uri) { return 20 == grep { outcome($client->get("$uri?k=$_")) eq '200 PASSED' } 1 .. 20 }

wait_until { all_pass('/reserve') } what => 'the map';
ok all_pass('/'), 'replicas are read';
my ($from, $to) = $cluster->primaries;
my $slot = $cluster->slot_of('rl:r/3600:1');
($from, $to) = ($to, $from) if $cluster->node_of($slot) != $from;
$cluster->migrate_slots($from, $to, $slot);
is outcome($client->get('/reserve?k=1')), '200 PASSED', 'MOVED without a host is followed';
$nginx->stop;
is $nginx->count_log(qr/is down|does not/), 0, 'nothing went wrong';

done;
