# Slots of running requests and token buckets in a cluster: a slot of the cluster moves, with the keys, while requests run, and a replica is promoted.

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, http => $cluster->block('main'),
        server => 'rate_limit_on_error deny; location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }
            location /bucket { alias %%DIR%%/html/x; rate_limit 1r/h burst=10 key=$arg_k store=main; }',
    )
} 1 .. 2;
my $slots  = 'rl:concurrency/n:a';
my $bucket = 'rl:default/3600b:a';
sub held () { return join ' ', sort map { /^(\d+) / } values %{$cluster->primary_of($slots)->hash($slots)} }
sub takes ($count) { is $nginx[$_ % 2]->get('/bucket?k=a')->status, 200, 'a token' for 1 .. $count; return }

wait_until { $_->get('/?k=first')->status == 200 } timeout => 20, what => 'the map' for @nginx;
my @open = ((map { $nginx[0]->reach($backend, '/slow?k=a') } 1 .. 3), $nginx[1]->reach($backend, '/slow?k=a'));
is held(), '1 3', 'four run';
takes(4);

for my $key ($slots, $bucket) {
    my $slot = $cluster->slot_of($key);
    my $from = $cluster->node_of($slot);
    my ($to) = grep { $_ != $from } $cluster->primaries;
    $cluster->migrate_slots($from, $to, $slot);
}
is $_->get('/?k=a')->status, 429, 'the slots are all held, where they are now' for @nginx;
takes(3);

$cluster->failover(($cluster->replicas_of($_))[0]) for $slots, $bucket;
wait_until { $_->get('/?k=a')->status == 429 } timeout => 20, what => 'the new primary to know' for @nginx;
wait_until { held() eq '1 3' } timeout => 25, what => 'both machines to say what they hold';
$backend->release('gate');
is $_->response->status, 200 for @open;
wait_until { $_->get('/?k=a')->status == 200 } timeout => 20, what => 'a slot' for @nginx;
wait_until { held() !~ /[1-9]/ } timeout => 20, what => 'all to go back';
wait_until { my $status = $nginx[0]->get('/bucket?k=a')->status; $status == 200 } timeout => 20, what => 'the bucket';
takes(2);
is $_->get('/bucket?k=a')->status, 429, 'there were ten' for @nginx;

done;
