# After "Retry-After: n" of a bucket, where n is more than 1, the same request passes, and it does not before n - 1 seconds: in each store and mode, for costs
# of 1 and more, on the machine that has refused it and on others, whose clocks differ.

use RateLimit::Test;

my $redis    = RateLimit::Redis->start;
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, http => redis_block('main', $redis, timeouts('60s')),
        server  => 'rate_limit_key all; add_header X-Outcome $rate_limit_status always;
            location /local { rate_limit 10r/25s burst=1 name=local; }
            location /local_cost { rate_limit 2r/s burst=6 name=local-cost cost=5; }
            location /redis { rate_limit 10r/25s burst=1 name=redis store=main; }
            location /redis_cost { rate_limit 2r/s burst=6 name=redis-cost store=main cost=5; }
            location /lease { rate_limit 100r/s burst=2000 name=lease store=main mode=lease cost=350; }')
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');
my @clients = map { $_->http } @machines;

# [outcome, Retry-After, when it was sent, when it was answered]
my sub ask ($client, $uri) {
    my $sent     = monotonic();
    my $response = $client->get($uri);
    return [outcome($response), limits($response)->{retry_after}, $sent, monotonic()];
}

# The local bucket of another machine is a different bucket.
my @uris = ('/local', '/local_cost', '/redis', '/redis_cost', '/lease');
my (%refused, %passed);
for my $uri (@uris) {
    wait_until {
        my $answer = $refused{$uri} = ask($clients[0], $uri);
        $answer->[0] eq '429 REJECTED' && $answer->[1] > 1
    } timeout => 90, what => "$uri to be refused for more than a second";
}
while (keys %passed < @uris) {
    for my $uri (grep { !$passed{$_} } @uris) {
        for my $client ($uri =~ /local/ ? $clients[0] : @clients) {
            my $answer = ask($client, $uri);
            my $last   = $refused{$uri}[3] + $refused{$uri}[1];
            $passed{$uri} = $answer if $answer->[0] ne '429 REJECTED' || $answer->[2] > $last + 0.05;
            last if $passed{$uri};
        }
    }
    let_pass(0.01);
}
for my $uri (@uris) {
    is $passed{$uri}[0], '200 PASSED', "$uri: after that time it passes";
    cmp_ok $passed{$uri}[3], '>=', $refused{$uri}[2] + $refused{$uri}[1] - 1, '... and not a second before';
    diag sprintf "%s: %d, after %.3f", $uri, $refused{$uri}[1], $passed{$uri}[3] - $refused{$uri}[2];
}

done;
