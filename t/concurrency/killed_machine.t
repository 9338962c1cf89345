# The slots of a machine that was killed lapse: others get them within 30 seconds, all of them.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
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
wait_until { $other->get('/?k=a')->status == 200 } timeout => 40, what => 'the slots of the killed machine';
my @own = map { $other->reach($backend, '/slow?k=a') } 1 .. 3;
is $other->get('/?k=a')->status, 429, 'as many as there are';
$backend->release('gate');
is $_->response->status, 200 for @own;

done;
