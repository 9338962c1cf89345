# A reload that gives a shard another master leaves the other shards alone, finds the new master at once, and old workers go on following
# failovers of the master that they know.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(masters => {map { $_ => {replicas => 1} } qw(a b c)});
my ($sentinels) = $set->block('main') =~ /(sentinel .*?;)/;
my sub block (@masters) { return "rate_limit_redis main { $sentinels shard x master=$masters[0]; shard y master=$masters[1]; check_timeout 2s; }" }
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, http => block(qw(a b)), up => $backend,
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/h name=n; } location /slow { rate_limit 1000r/h name=n; proxy_pass http://%%UP%%; }',
);
my %key;
my sub passes ($shard) { return $nginx->get("/x?k=$key{$shard}")->status == 200 }
wait_until { $key{$nginx->get("/x?k=$_")->header('X-Shard') // ''} = $_ for 1 .. 20; $key{x} && $key{y} && passes('x') && passes('y') }
    what => 'both primaries to be found';
my ($a, $b, $c) = map { $set->primary($_) } qw(a b c);
my $slow = $nginx->reach($backend, "/slow?k=$key{y}");
$nginx->reload(http => block(qw(a c)));
is_deeply [map { passes('x') } 1 .. 10], [(1) x 10], 'requests of the shard that stays pass at once';
wait_until { passes('y') } what => 'the other master';
wait_until { $c->used($key{y}, 'n/3600') } what => 'its charges';

my $new = $set->failover('b');
$nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary of shard "y" .*before it was \Q${\ $b->address}\E/);
my $used = $new->used($key{y}, 'n/3600') // 0;
$backend->release('gate');
is $slow->response->status, 200, 'the request of the old worker';
wait_until { ($new->used($key{y}, 'n/3600') // 0) > $used } what => 'its charge on the primary that took over, and what the failover had lost';
$used = $new->used($key{y}, 'n/3600');
is_deeply [map { passes($_) } qw(x y)], [1, 1], 'the new workers are where they were';
$nginx->reload(http => block(qw(a b)));
wait_until { passes('y') } what => 'the master of before';
wait_until { $new->used($key{y}, 'n/3600') > $used } what => 'charges there again';

done;
