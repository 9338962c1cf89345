# Row 28 of the fault matrix. With "cluster-require-full-coverage no" a primary without replicas is killed: its keys go by
# rate_limit_on_error at once, all others are served as before; when it is back, so are its keys.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 3000, full_coverage => 0, redis => {appendonly => 1});
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main', 'check_timeout 5s; connect_timeout 5s; charge_timeout 5s; fresh off;'),
    server  => 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_error_status 529;
        location / { rate_limit 1000r/d; } location /reserve { rate_limit 1000r/d name=r mode=charge_refund; }
        location /allow { rate_limit 1000r/d name=a; rate_limit_on_error allow; }',
);
my @uris = ('/', '/reserve');
my %name = ('/' => 'default', '/reserve' => 'r');
my $client = $nginx->http;
my ($dead) = $cluster->primaries;
my (%its, %others);
for my $uri (@uris) {
    for my $key (1 .. 20) {
        my $of = $cluster->primary_of("rl:$name{$uri}/86400:$key") == $dead ? \%its : \%others;
        push @{$of->{$uri}}, $key;
    }
}
my sub statuses ($of) {
    my %seen;
    for my $uri (@uris) { $seen{$client->get("$uri?k=$_")->status}++ for @{$of->{$uri}} }
    return join ' ', sort keys %seen;
}

wait_until { statuses(\%its) eq '200' } what => 'the map';
is statuses(\%others), '200', 'all are served';
$dead->kill;
wait_until { statuses(\%its) eq '529' } what => 'its keys to be denied';
wait_until { $cluster->up == grep { $_->cmd('CLUSTER', 'NODES') =~ /master,fail / } $cluster->up } timeout => 20, what => 'the others to know';
for my $round (1 .. 5) {
    my $begun = monotonic();
    is statuses(\%its), '529', 'its keys are denied';
    cmp_ok monotonic() - $begun, '<', patience(4), '... at once';
    is statuses(\%others), '200', 'others are served';
    let_pass(0.3);
}
my ($waiting) = grep { $cluster->slot_of("rl:a/86400:$_") <= 5000 } 1 .. 1000;
is $client->get("/allow?k=$waiting")->status, 200, 'where that is allowed, a request passes';
$dead->restart;
wait_until { statuses(\%its) eq '200' } timeout => 20, what => 'its keys to be served again';
wait_until { ($dead->stored($waiting, 'a/86400')->{used} // 0) == 1 } what => 'the charge that waited';
is $nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
