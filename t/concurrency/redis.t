# Machines share the slots of a client through Redis; they come back when requests end.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my @nginx = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $redis),
        server => 'location / { rate_limit_concurrency 3 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;

my @open = map { $_->reach($backend, '/slow?k=a') } @nginx, $nginx[0];
for my $nginx (@nginx) {
    my $rejected = $nginx->get('/?k=a');
    is $rejected->status, 429, 'the fourth is rejected';
    is $rejected->header('X-RateLimit-Used'), 3;
    is $rejected->header('X-RateLimit-Resource'), 'concurrency';
}
my %slots = $redis->cmd('HGETALL', 'rl:concurrency/n:a')->@*;
is_deeply [sort map { /^(\d+) / } values %slots], [1, 2], 'a field for each machine';
like $_, qr/^[0-9a-f]{16}$/ for keys %slots;

$backend->release('gate');
is $_->response->status, 200 for @open;
for my $nginx (@nginx) {
    wait_until { $nginx->get('/?k=a')->status == 200 } what => 'the slots to come back';
}
wait_until { !grep { /^[1-9]/ } values %{$redis->hash('rl:concurrency/n:a')} } what => 'idle slots to go back';

done;
