# A reload that names the shards in another order changes nothing: what is known of each goes by its name. One that gives a shard another
# master leaves the other shards alone, and finds the new master at once. Old workers go on with what they know, and follow its failovers.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(masters => {map { $_ => {replicas => 1} } qw(a b c)});
my ($sentinels) = $set->block('main') =~ /(sentinel .*?;)/;
# Shards and their masters, in that order.
my sub block (@shards) {
    my @lines = map { "shard $shards[2 * $_] master=$shards[2 * $_ + 1];" } 0 .. $#shards / 2;
    return "rate_limit_redis main { $sentinels @lines check_timeout 2s; }";
}
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, http => block(x => 'a', y => 'b'), up => $backend,
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/h name=n; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /slow { rate_limit 1000r/h name=n; proxy_pass http://%%UP%%; }',
);
my %key;
my sub passes ($shard) { return 2 == grep { $nginx->get("$_?k=$key{$shard}")->status == 200 } qw(/x /reserve) }
my sub used ($server, $shard) { return $server->used($key{$shard}, 'n/3600') }
wait_until { $key{$nginx->get("/x?k=$_")->header('X-Shard') // ''} = $_ for 1 .. 20; $key{x} && $key{y} && passes('x') && passes('y') }
    what => 'both primaries to be found';
my ($a, $b, $c) = map { $set->primary($_) } qw(a b c);

# Without most of them nothing that is known already can be changed.
my (undef, @others) = $set->sentinels;
$_->kill for @others;
my %before = (x => used($a, 'x'), y => used($b, 'y'));
my %slow   = map { $_ => $nginx->reach($backend, "/slow?k=$key{$_}") } qw(x y);
$nginx->reload(http => block(y => 'b', x => 'a'));
is_deeply [map { passes($_) } ('x', 'y') x 10], [(1) x 20], 'another order: requests of both shards pass at once';
cmp_ok scalar($nginx->old_workers), '>', 0, 'an old worker is still there';
$backend->release('gate');
is $_->response->status, 200, 'and answers' for values %slow;
wait_until { used($a, 'x') >= $before{x} + 11 && used($b, 'y') >= $before{y} + 11 } what => 'the charges of both';
is $nginx->count_log(qr/before it was/), 0, 'no shard was taken for another';
$_->restart for @others;
$set->wait_known;

my $slow = $nginx->reach($backend, "/slow?k=$key{y}");
$nginx->reload(http => block(x => 'a', y => 'c'));
is_deeply [map { passes('x') } 1 .. 10], [(1) x 10], 'another master: requests of the shard that stays pass at once';
wait_until { passes('y') } what => 'the other master';
wait_until { used($c, 'y') } what => 'its charges';

my $new = $set->failover('b');
$nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary of shard "y" .*before it was \Q${\ $b->address}\E/);
my $used = used($new, 'y');
$backend->release('gate');
is $slow->response->status, 200, 'the request of the old worker';
wait_until { used($new, 'y') > $used } what => 'its charge on the primary that took over, and what the failover had lost';
$used = used($new, 'y');
is_deeply [map { passes($_) } qw(x y)], [1, 1], 'the new workers are where they were';
$nginx->reload(http => block(x => 'a', y => 'b'));
wait_until { passes('y') } what => 'the master of before';
wait_until { used($new, 'y') > $used } what => 'charges there again';

done;
