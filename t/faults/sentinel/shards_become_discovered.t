# Row 34 of the fault matrix: a reload puts sentinels in the place of addresses, for shards of the same names. What waits for a primary that
# was lost before goes on waiting, and reaches the primary that the sentinels name; so do charges that an old worker owes.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start;
my ($old, @replicas) = $set->servers;
my $static = redis_block('main', [$old, @replicas], 'check_timeout 1s;') =~ s/shard a /shard mymaster /r;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    workers => 2, http => $static, up => $backend,
    server => 'rate_limit_key $arg_k; rate_limit_store main; location /c { rate_limit 1000r/d name=c; } location /l { rate_limit 1000r/d name=l mode=lease; rate_limit_lease 10; }
        location /slow { rate_limit 1000r/d name=c; proxy_pass http://%%UP%%; }',
);
$nginx->get("/$_?k=k") for qw(c l);
wait_until { 3 == grep { $_->used('k', 'c/86400') == 1 } $set->servers } what => 'all servers to have the first charge';
my $slow = $nginx->reach($backend, '/slow?k=k');
$old->kill;
$nginx->get('/c?k=k') for 1 .. 10;
my $new = $set->wait_switched($old);
is $new->used('k', 'c/86400'), 1, 'the new primary has no charge since';
$nginx->reload(http => $set->block('main', 'check_timeout 1s;'));
wait_until { $new->used('k', 'c/86400') == 11 } what => 'what waited';
$backend->release('gate');
is $slow->response->status, 200, 'a request of the old configuration';
wait_until { !$nginx->old_workers } what => 'old workers to leave';
wait_until { $new->used('k', 'c/86400') == 12 } what => 'its charge';
is $nginx->get('/l?k=k')->status, 200, 'tokens are spent';
$nginx->reload(http => $static =~ s/\Q${\ $old->address}\E/$new->address/er =~ s/replica=\Q${\ $new->address}\E//r);
$nginx->get('/c?k=k');
wait_until { $new->used('k', 'c/86400') == 13 } what => 'charges after a reload back to addresses';
$nginx->stop;
is $new->used('k', 'l/86400'), 2, 'tokens that were not spent went back to the new primary';
is $nginx->count_log(qr/in doubt|were dropped|nginx ends/), 0, 'nothing is lost';

done;
