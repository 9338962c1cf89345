# A worker is killed on a machine that gets no further request: the others of it give its slots back
# within a second, and another machine may have them.

use RateLimit::Test;
use List::Util qw(min);

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my ($nginx, $other) = map {
    RateLimit::Nginx->start(
        up => $backend, workers => $_, reuseport => 1, http => redis_block('main', $redis),
        server => 'location / { rate_limit_concurrency 10 key=$arg_k store=main; proxy_pass http://%%UP%%$request_uri&worker=$pid; }')
} 3, 1;
sub held ($key) { return sum0(map { /^(\d+) / } values %{$redis->hash("rl:concurrency/n:$key")}) }

my @took;
for my $round (1 .. 3) {
    $backend->forget;
    my @keys = map { "$round-$_" } 1 .. 20;
    my @open = map { my $key = $_; map { $nginx->reach($backend, "/slow?k=$key") } 1 .. 6 } @keys;
    my (%runs, %of);
    for my $uri (map { $_->[1] } $backend->requests) {
        my ($key, $worker) = $uri =~ /k=([\d-]+)&worker=(\d+)/ or die $uri;
        $of{$worker}++;
        $runs{$key}{$worker}++;
    }
    my ($worker) = sort { $of{$b} <=> $of{$a} } keys %of;
    is_deeply [grep { held($_) != 6 } @keys], [], "$of{$worker} of 120 requests run in one worker";
    my %left   = map { $_ => 6 - ($runs{$_}{$worker} // 0) } @keys;
    my $killed = monotonic();
    $nginx->kill_worker($worker);
    wait_until { !grep { held($_) != $left{$_} } @keys } what => 'its slots to go back';
    push @took, monotonic() - $killed;
    my $key  = $keys[0];
    my @more = map { $other->reach($backend, "/slow?k=$key") } 1 .. 10 - $left{$key};
    is $other->get("/x?k=$key")->status, 429, 'another machine has what is left, and no more';
    $backend->release('gate');
    is_deeply [grep { $_ != 200 } map { $_->response->status } @more], [], 'all get their answer';
    eval { $_->response } for @open;
    wait_until { !grep { held($_) } @keys } what => 'all slots to go back';
}
# The quickest, for the machine may be busy.
cmp_ok min(@took), '<', patience(1), 'all slots were back within a second of the kill: ' . join ' ', map { sprintf '%.2f', $_ } @took;

done;
