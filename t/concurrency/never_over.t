# Three machines of four workers, one's clock ten seconds ahead and another's as much behind, under load of several keys: no more requests
# of a key run at a time than its limit says, and as many as that where there is demand.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $busy  = RateLimit::Busy->start(from => 0.01, to => 0.06);
my @machines = map {
    RateLimit::Nginx->start(
        up => $busy, workers => 4, reuseport => 1, clock => 1, http => redis_block('main', $redis) .
            'map $arg_k $slots { ~^(\d+) $1; }',
        server => 'location / { rate_limit_concurrency $slots key=$arg_k store=main; proxy_pass http://%%UP%%; }')
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

my %connections = (0 => 4, 1 => 12, 3 => 24, 20 => 60, 200 => 300);
my @weighted = map { ("/x?k=$_") x $connections{$_} } sort keys %connections;
my %passed = map { $_ => 0 } keys %connections;
my @uris = ((map { "$_&slow=1" } @weighted), map { $weighted[rand @weighted] } 1 .. 11_600);    # at first all slots are in use
my $begun = monotonic();
my @responses = RateLimit::Load::parallel(
    port => [map { $_->port } @machines], connections => 400, requests => [map { [$_] } @uris]);
my $time = monotonic() - $begun;
for my $at (0 .. $#uris) {
    my ($key) = $uris[$at] =~ /k=(\d+)/;
    $passed{$key}++ if $responses[$at]->status == 200;
}
is_deeply [grep { !/^(?:200|429)$/ } keys %{statuses(@responses)}], [], 'each request passes or is one too many';
for my $key (sort { $a <=> $b } keys %connections) {
    my $most = $busy->most($key);
    cmp_ok $most, '<=', $key, "of $key never more than that: $most";
    cmp_ok $most, '>=', 0.9 * $key, '... and nearly as many';
    is $busy->served($key), $passed{$key}, '... and the others are told so';
    note sprintf '%d requests in %.1f s: %d of key %s passed, %s at a time on average', scalar @uris, $time, $passed{$key}, $key, $busy->mean($key);
}
cmp_ok $redis->script_calls, '<', 2 * @uris, 'some find their slot without a call';
note $redis->script_calls, ' calls';
for my $key (1, 3, 20, 200) {
    wait_until { !grep { /^[1-9]/ } values %{$redis->hash("rl:concurrency/n:$key")} } what => "the slots of $key to go back";
}

done;
