# Redis is healthy and far away: each answer takes longer than the pause between two questions of a machine. The limit holds all the same, and a
# request that finds it reached is rejected, not let in as if Redis were away.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port, delay => 0.07);
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $proxy, timeouts('5s')),
        server => 'location / { rate_limit_concurrency 4 key=$arg_k store=main; add_header X-Outcome $rate_limit_status always; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;

my @open = map { $nginx[0]->reach($backend, '/slow?k=a') } 1 .. 4;
my $calls = $redis->script_calls;
for my $nginx (@nginx) {
    is outcome($nginx->get('/?k=a')), '429 REJECTED', 'the limit is reached' for 1 .. 5;
}
cmp_ok $redis->script_calls - $calls, '<=', 12, 'each of them has asked once at most';
$backend->release('gate');
is $_->response->status, 200, 'those that ran end' for @open;
wait_until { $nginx[1]->get('/?k=a')->status == 200 } what => 'a slot for the other machine';

done;
