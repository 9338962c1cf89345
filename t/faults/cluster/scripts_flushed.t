# Row 30 of the fault matrix. The scripts of one node are flushed: nobody notices.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 15_000);
my $nginx   = RateLimit::Nginx->start(
    http    => $cluster->block('main'),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location /check { rate_limit 1000r/d name=c; } location /reserve { rate_limit 1000r/d name=r mode=charge_refund; }',
);
my $client = $nginx->http;
wait_until { $client->get('/reserve?k=first')->status == 200 } what => 'the map';
is scalar(grep { $client->get("$_->[0]?k=$_->[1]")->status == 200 } map { ['/check', $_], ['/reserve', $_] } 1 .. 20), 40, 'all pass';
my ($node) = $cluster->primaries;
$node->cmd('SCRIPT', 'FLUSH');
is scalar(grep { $client->get("$_->[0]?k=$_->[1]")->status == 200 } map { ['/check', $_], ['/reserve', $_] } 21 .. 40), 40, 'all pass after the flush';
wait_until { 40 == sum0 map { $cluster->used($_, 'c/86400') } 1 .. 40 } what => 'the charges';
is sum0(map { $cluster->used($_, 'r/86400') } 1 .. 40), 40, 'the reservations are stored';
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down|does not serve/), 0, 'nothing went wrong';

done;
