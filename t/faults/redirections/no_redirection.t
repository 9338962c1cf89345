# Row 20 of the fault matrix. In a cluster that does not change no command is redirected, whatever braces are in its key: each goes to the
# node that serves its slot, and reads go to replicas.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $cluster->block('main'),
    server  => 'keepalive_requests 1000000; rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Shard $rate_limit_shard always;
        location /c { rate_limit 1000r/h name=c; } location /r { rate_limit 1000r/h name=r mode=charge_refund; }
        location /l { rate_limit 1000r/h name=l mode=lease; }',
);
my $client = $nginx->http;
wait_until { $client->get('/r', 'X-Key' => 'first')->status == 200 } what => 'the map';
$_->cmd('CONFIG', 'RESETSTAT') for $cluster->nodes;
my @keys = ((map { "k$_" } 1 .. 100), (map { "a/{t$_}b" } 1 .. 20), '{}x', '{{x}}', 'x}{y', '{', '}', '{}{z}', '{a}{b}', 'x' x 30, '{' . 'y' x 30 . '}');
for my $key (@keys) {
    is $client->get("/$_", 'X-Key' => $key)->status, 200, "/$_ passes for $key" for qw(c r l);
}
wait_until { @keys == grep { $cluster->used($_, 'c/3600') } @keys } what => 'the charges';
is sum0(map { $cluster->used($_, 'r/3600') } @keys), @keys, 'reservations are where the cluster has the slot';
is $client->get('/c', 'X-Key' => 'k1')->header('X-Shard'), $cluster->primary_of('rl:c/3600:k1')->address, 'the shard is the address of the primary';
cmp_ok sum0(map { $_->calls('hmget') } $cluster->replicas), '>', 0, 'replicas are read';
$nginx->stop;
is $nginx->count_log(qr/moved|doubt|dropped|is down|does not/), 0, 'nothing went wrong';
for my $node ($cluster->nodes) {
    my $errors = $node->info('errorstats');
    is_deeply [grep { /MOVED|ASK|CROSSSLOT/ } keys %$errors], [], 'node ' . $node->port . ' redirects nothing';
}

done;
