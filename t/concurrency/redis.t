# Machines share the slots of a client through Redis; they come back when requests end. Each machine tells clients what holds for all.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my @nginx = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $redis),
        server => 'rate_limit_headers github ietf; location / { rate_limit_concurrency 3 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;

sub ietf ($response) { return join ' ', map { $response->header($_) // '-' } qw(RateLimit-Policy RateLimit) }

my @open = map { $_->reach($backend, '/slow?k=a') } @nginx, $nginx[0];
for my $nginx (@nginx) {
    my $rejected = $nginx->get('/?k=a');
    shows $rejected, 429, {limit => 3, used => 3, remaining => 0, resource => 'concurrency', retry_after => 1}, 'the fourth is rejected, for a second';
    like $rejected->header('X-RateLimit-Reset') - $rejected->date, qr/^[12]$/, '... which its reset says too, rounded up';
    is ietf($rejected), '"concurrency";q=3;qu="concurrent-requests" "concurrency";r=0', '... and the draft, without it';
}
my %slots = $redis->cmd('HGETALL', 'rl:concurrency/n:a')->@*;
is_deeply [sort map { /^(\d+) / } values %slots], [1, 2], 'a field for each machine';
like $_, qr/^[0-9a-f]{16}$/ for keys %slots;

$backend->release('gate');
is $_->response->status, 200 for @open;
for my $nginx (@nginx) {
    my $passed = wait_until { my $response = $nginx->get('/?k=a'); $response->status == 200 && $response } what => 'the slots to come back';
    shows $passed, 200, {limit => 3, resource => 'concurrency', reset => undef, retry_after => undef}, 'one passes, whose slot nobody knows to end';
    my ($used, $remaining) = @{limits($passed)}{qw(used remaining)};
    is $used + $remaining, 3, "$used of three are used";
    is ietf($passed), '"concurrency";q=3;qu="concurrent-requests" "concurrency";r=' . $remaining, '... as the draft has it';
}
wait_until { !grep { /^[1-9]/ } values %{$redis->hash('rl:concurrency/n:a')} } what => 'idle slots to go back';

done;
