# The slots of a machine that was killed lapse: thirty seconds later, by the clock of Redis, others get all of them, and none before.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(own_time => 1);
my $backend = RateLimit::Backend->start;
my ($killed, $other) = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $redis),
        server => 'location / { rate_limit_concurrency 3 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;

my @open = map { $killed->reach($backend, '/slow?k=a') } 1 .. 3;
is $other->get('/?k=a')->status, 429, 'all slots are held';
$killed->kill;
is $other->get('/?k=a')->status, 429, 'Redis still counts them';
$redis->travel(20);
let_pass(0.06);    # a machine that was told that the limit is reached asks again
is $other->get('/?k=a')->status, 429, '... twenty seconds later too';
$redis->travel(30);
my $took = time_until { $other->get('/?k=a')->status == 200 } what => 'the slots of the killed machine';
cmp_ok $took, '<', patience(5), 'they lapse after thirty';
my @own = map { $other->reach($backend, '/slow?k=a') } 1 .. 3;
is $other->get('/?k=a')->status, 429, 'as many as there are';
$backend->release('gate');
is $_->response->status, 200 for @own;

done;
