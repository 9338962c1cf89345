# A replica that was cut off takes over, and knows only what was held before: a slot too few. Until the machines have said what they hold, one
# request too many may run. Within fifteen seconds they have, and from then on the count is right.

use RateLimit::Test;

my $primary = RateLimit::Redis->start;
my $link    = RateLimit::Proxy->start(to => $primary->port);
my $replica = RateLimit::Redis->start(replica_of => $primary);
my $way     = RateLimit::Proxy->start(to => $primary->port);
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, clock => 1, http => redis_block('main', $way) . 'rate_limit_on_error deny;',
        server => 'location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;
sub held ($redis) { return join ' ', sort map { /^(\d+) / } values %{$redis->hash('rl:concurrency/n:a')} }

$replica->cmd('REPLICAOF', '127.0.0.1', $link->port);
my @open = ($nginx[1]->reach($backend, '/slow?k=a'), map { $nginx[0]->reach($backend, '/slow?k=a') } 1, 2);
wait_until { held($replica) eq '1 2' } what => 'the replica';
$link->stop;
push @open, $nginx[0]->reach($backend, '/slow?k=a');
is_deeply [held($primary), held($replica)], ['1 3', '1 2'], 'the replica does not know of the last one';

$primary->kill;
$replica->cmd('REPLICAOF', 'NO', 'ONE');
$way->lead_to($replica->port);
$way->drop;
wait_until { $_->get('/?k=b')->status == 200 } what => 'the new primary to be asked' for @nginx;
push @open, $nginx[1]->reach($backend, '/slow?k=a');
is held($replica), '2 2', 'one is let in too many, as the new primary does not know better';
is $nginx[1]->get('/?k=a')->status, 429, '... and no second one';

$_->travel('+15') for @nginx;
my $took = time_until { held($replica) eq '2 3' } what => 'all that runs to be held';
cmp_ok $took, '<', patience(5), 'fifteen seconds later all that runs is held';
is $_->get('/?k=a')->status, 429, 'no more are let in' for @nginx;
$backend->release('gate');
is_deeply [map { $_->response->status } @open], [(200) x 5], 'all end';
wait_until { held($replica) !~ /[1-9]/ } what => 'all to go back';

my @all = map { $nginx[$_ % 2]->reach($backend, '/slow?k=a') } 1 .. 4;
is $_->get('/?k=a')->status, 429, 'four run again, and no more' for @nginx;
$backend->release('gate');
is_deeply [map { $_->response->status } @all], [(200) x 4], '... to their end';

done;
