# An nginx that ends in good order gives all slots back before it ends, also those that no request used, and those of requests that it waited for.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, workers => 2, http => redis_block('main', $redis),
    server => 'location / { rate_limit_concurrency 1000 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
);
sub held ($key) { return join ' ', map { /^(\d+) / } values %{$redis->hash("rl:concurrency/n:$key")} }

my @idle = map { $nginx->reach($backend, '/slow?k=idle') } 1 .. 50;
$backend->release('gate');
is $_->response->status, 200 for @idle;
cmp_ok held('idle'), '>', 0, 'slots that no request uses';
my @open = map { $nginx->reach($backend, '/slow?k=a') } 1 .. 20;
cmp_ok held('a'), '>=', 20, 'slots of requests that run';

my ($master) = $nginx->pid;
kill QUIT => $master;
wait_until { held('idle') !~ /[1-9]/ } what => 'the idle slots to go back while requests run';
cmp_ok held('a'), '>=', 20, 'what runs is still held';
$backend->release('gate');
is $_->response->status, 200 for @open;
wait_until { !$nginx->alive } timeout => 10, what => 'nginx to end';
unlike held('a'), qr/[1-9]/, 'and nothing is left in Redis';

done;
