# Looking up and resetting in a store whose primary sentinels name: also after a failover, at the new primary.

use RateLimit::Test;
use List::Util qw(all);

my $set   = RateLimit::Sentinels->start(masters => {mymaster => {replicas => 1}});
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => $set->block('main') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h name=core store=main mode=charge_refund; }',
);
my sub used () {
    my $response = $nginx->act('key=a&limit=core');
    return $response->status == 200 ? $response->json->{windows}[0]{used} : undef;
}
my sub get () { return $nginx->get('/x', 'X-Key' => 'a')->status }

wait_until { get() == 200 } what => 'the primary to be known';
get() for 1 .. 9;
is used(), 5, 'at the limit';
is $nginx->act('do=reset&key=a&limit=core')->status, 200, 'reset';
is used(), 0, '... at the primary';
is $set->used('a', 'core/3600'), 0, '... in Redis';
is get(), 200, '... for the next request';
get() for 1 .. 9;
my ($replica) = $set->replicas;
wait_until { $replica->used('a', 'core/3600') == 5 } what => 'the replica to have it';
# With the old one stopped, each answer is of the new one; twelve in a row come from both workers.
my $old = $set->primary;
$set->failover;
$old->stop;
wait_until { all { (used() // -1) == 5 } 1 .. 12 } what => 'the new primary to be asked by all workers';
is $nginx->act('do=add&key=a&limit=core&cost=2')->status, 200, 'a part given back at the new primary';
is used(), 3, '... which counts it';
is get(), 200, '... for the next request';

done;
