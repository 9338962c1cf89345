# A bucket in `lease` is looked up, and its tokens are given back, as those of other buckets: what machines have at hand is used. After a reset the client has
# all of it again, and no more than the burst, but for tokens that other machines hold; another machine hears of it within ten seconds.

use RateLimit::Test;

# Without the time of Redis the bucket goes by the clocks of the machines, which stand still.
my $redis    = RateLimit::Redis->start(timeless => 1);
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, log_level => 'notice',
        http    => timeless_block('main', $redis) . 'rate_limit_key $http_x_key; keepalive_requests 100000;',
        server  => 'location /limits/ { rate_limit_console manage; }
            location / { rate_limit 100r/s burst=2000 name=core store=main mode=lease cost=$http_x_cost; rate_limit_lease 50; }')
} 1 .. 2;
my ($here, $there) = @machines;
my @clients = map { $_->http } @machines;
my $time    = 1_800_000_000;
my $key;
$_->stand_at($time) for @machines;

my sub ask ($at, $cost = 1) { return $clients[$at]->get('/x', 'X-Key' => $key, 'X-Cost' => $cost) }
my sub act ($machine, $fields = '') {
    my $answer = $machine->act("key=$key&limit=core$fields");
    return [map { join ' ', @$_{qw(window limit used remaining)} } @{$answer->json->{windows}}];
}
my sub tokens ($machine) {
    return $machine->act("key=$key&limit=core")->json->{windows}[0]{tokens};
}
# By tens, so that it takes less than the second for which tokens live.
my sub until_rejected ($at) {
    my $passed = 0;
    $passed += 10 while ask($at, 10)->status == 200;
    return $passed;
}

# Tokens live for a second, by a clock that does not stand still: a round counts, of a key of its own, where the machine was quicker.
my ($rounds, @told) = (0);
wait_until {
    $key = 'a' . ++$rounds;
    my $begun = monotonic();
    @told = (act($here), ask(0)->status, (map { act($_) } @machines), ask(0)->status, act($there), [map { tokens($_) } @machines],
        ask(1, 850)->status, act($here, '&do=add&cost=30'), act($there, '&do=add&cost=5000'));
    monotonic() - $begun < 0.8
} what => 'a round in time';
is_deeply shift @told, [], 'a full bucket is no window';
is shift @told, 200, 'one request';
is_deeply shift @told, ['bucket 2000 50 1950'], '... takes a batch, which is used' for @machines;
is shift @told, 200, 'the next request has one of its tokens';
is_deeply shift @told, ['bucket 2000 50 1950'], '... and is nothing new in Redis';
is_deeply shift @told, [48, 0], '... of those at hand on the one machine';
is shift @told, 200, 'a cost above a batch';
is_deeply shift @told, ['bucket 2000 870 1130'], '30 are given back';
is_deeply shift @told, [], '... and all the rest';

my $passed = until_rejected(0);
cmp_ok $passed, '>=', 1900, 'all of the burst is there, but for what is held back';
cmp_ok $passed, '<=', 2000, '... and no more than it';
ask(0) for 1 .. 10;
is_deeply act($here, '&do=reset'), [], 'a reset of the empty bucket';
is until_rejected(0), 1900, '... and all is there again, at once, but for what is held back: what was at hand is worth nothing';

is ask(1, 500)->status, 429, 'the other machine has heard of an empty bucket';
act($here, '&do=reset');
my $heard = 0;
while (ask(1, 1900)->status != 200 && $heard < 20) { $_->stand_at($time + ++$heard) for @machines }
cmp_ok $heard, '<=', 10, "... and hears of a reset within ten seconds ($heard)";
is $here->count_log(qr/rate limit "core" of "main", id \w+: (?:reset|30 given back)/), 2 + $rounds, 'what was done is logged';
done;
