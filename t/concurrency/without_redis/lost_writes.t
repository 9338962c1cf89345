# Redis loses what it knew: each machine says again what it holds within fifteen seconds, half the time that slots last, though no request
# comes to it, and from then on the count is right.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, clock => 1, http => redis_block('main', $redis),
        server => 'location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;
sub held () { return join ' ', sort map { /^(\d+) / } values %{$redis->hash('rl:concurrency/n:a')} }

my @open = ((map { $nginx[0]->reach($backend, '/slow?k=a') } 1 .. 3), $nginx[1]->reach($backend, '/slow?k=a'));
is held(), '1 3', 'four run';
$redis->flush;
$_->travel('+15') for @nginx;
my $took = time_until { held() eq '1 3' } what => 'both machines to say it again';
cmp_ok $took, '<', patience(5), 'both have said it again when fifteen seconds have passed';
is $_->get('/?k=a')->status, 429, 'no more are let in' for @nginx;
$backend->release('gate');
is $_->response->status, 200 for @open;
wait_until { held() !~ /[1-9]/ } what => 'all to go back';
wait_until { $_->get('/?k=a')->status == 200 } what => 'a slot' for @nginx;

done;
