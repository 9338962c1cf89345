# Tokens of a bucket in `lease` live for a twentieth of the time that it takes to fill. Then they go back, less what the bucket was refilled
# since, also where no request comes; so do those at hand when nginx ends, and what a request does not spend is at hand again.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis, timeouts('9s')) . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_mode lease; rate_limit_lease 1000;
        rate_limit_on_error deny; add_header X-Outcome "$rate_limit_status $rate_limit_source" always;',
    server => 'location / { rate_limit 100r/s burst=2000 cost=$http_x_cost; } location /report { rate_limit 100r/s burst=2000; rate_limit_report; }');
my sub ask ($key, @fields) { return $nginx->get('/x', 'X-Key' => $key, @fields) }

# How many tokens the bucket lacks.
my sub missing ($key) {
    my ($missing) = $redis->bucket("rl:default/1b:$key");
    return ($missing // 0) <= 0 ? 0 : $missing / 10e6;
}

my $asked = monotonic();
my $first = ask('a');
is $first->header('X-Outcome'), 'PASSED primary', 'the first request asks';
is_deeply [@{limits($first)}{qw(limit used remaining)}], [2000, 101, 1899], 'a twentieth of the burst is kept back';
my $second = ask('a');
is $second->header('X-Outcome'), 'PASSED tokens', 'the next has what was fetched';
my $remaining = limits($second)->{remaining};
cmp_ok $remaining, '>=', 1898, '... which is not taken yet';
cmp_ok $remaining, '<=', 1899 + 100 * (monotonic() - $asked), '... and nothing but what the bucket was refilled since';
cmp_ok missing('a'), '>', 900, 'in Redis it is';
wait_until { missing('a') == 0 } what => 'it to go back: sooner than the bucket would be full by itself', timeout => 5;
is ask('a')->header('X-Outcome'), 'PASSED primary', 'what went back is not spent here';

# Tokens live for a second: where these requests take longer, other ones do it. Nothing else is at hand, that would go back meanwhile.
my ($tries, @exempt, $calls, $used) = 0;
wait_until {
    my $key = 'free' . ++$tries;
    wait_until { !grep { missing($_) > 0 } 'a', map { "free$_" } 1 .. $tries } what => 'nothing to be at hand';
    my $begun = monotonic();
    my $tag   = ask($key)->header('ETag');
    $redis->forget_calls;
    @exempt = map { ask($key, 'If-None-Match' => $tag)->status } 1 .. 20;
    ($calls, $used) = ($redis->script_calls, limits(ask($key))->{used});
    monotonic() - $begun < 0.9
} timeout => 60, what => 'a second that is long enough';
is_deeply \@exempt, [(304) x 20], 'requests that are exempt';
is $calls, 0, 'take tokens at hand, and put them back';
cmp_ok $used, '<=', 102, '... where they do not count';
is ask('free', 'X-Cost' => 1901)->status, 429, 'a cost above what the burst leaves never fits';
is ask('free', 'X-Cost' => 1901)->header('Retry-After'), undef, '... and has no Retry-After';

is ask('reload')->status, 200, 'a batch';
$nginx->reload;
wait_until { missing('reload') == 0 } what => 'the new workers to give it back', timeout => 5;
is ask($_)->status, 200, "$_: has a batch" for 'one', 'another';
cmp_ok missing('another'), '>', 900, '... which is taken';
$nginx->stop;
cmp_ok missing($_), '<', 200, "$_: nginx gives back what is at hand at its end" for 'one', 'another';
is $nginx->count_log(qr/rate limit: (?!cost)/), 0, 'not a word about it';

done;
