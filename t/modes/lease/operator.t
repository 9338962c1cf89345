# lease: when an operator deletes or lowers a count on the primary, nginx notices it within a second or so, and does not spend
# tokens of a window that is gone in the next one. A limit that is raised or lowered, by a reload or by a variable, holds at
# once, though tokens are at hand that were taken under another one.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;

sub lines ($limit) {
    return "location / { rate_limit ${limit}r/h name=n; } location /plan { rate_limit \$plan name=n; }";
}
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis, timeouts('9s')) . '
        map $arg_plan $plan { default 100r/h; small 5r/h; tiny 1r/h; none 0r/h; }
        add_header X-Outcome $rate_limit_status always; rate_limit_cost $arg_cost;
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key; rate_limit_lease 50;',
    server => lines(100),
);
sub used ($key) { return $redis->used($key, 'n/3600') }

# Returns the outcomes of so many requests.
sub ask ($uri, $key, $count = 1) { return outcomes(map { $nginx->get($uri, 'X-Key' => $key) } 1 .. $count) }

# Asks again and again until a request is admitted, and returns that response.
sub admitted ($key, $what) {
    my $asked = $redis->script_calls;
    my $response = wait_until { my $r = $nginx->get('/x', 'X-Key' => $key); $r->status == 200 && $r } what => 'to be admitted';
    cmp_ok $redis->script_calls - $asked, '<=', 3, "$what is noticed when the primary is next asked";
    return $response;
}

is_deeply ask('/x', 'a', 105), {'200 PASSED' => 100, '429 REJECTED' => 5}, 'up to the limit';
is used('a'), 100, 'which is stored';
$redis->cmd('DEL', 'rl:n/3600:a');
is limits(admitted('a', 'a deleted window'))->{used}, 1, 'and a new one opens';
is_deeply ask('/x', 'a', 104), {'200 PASSED' => 99, '429 REJECTED' => 5}, 'for as many requests as ever';
$redis->cmd('HSET', 'rl:n/3600:a', used => 40);
is limits(admitted('a', 'a lowered count'))->{used}, 41, 'which goes on from there';
is_deeply ask('/x', 'a', 64), {'200 PASSED' => 59, '429 REJECTED' => 5}, 'for what it leaves';
$redis->cmd('FLUSHALL');
$redis->cmd('SCRIPT', 'FLUSH');
is limits(admitted('a', 'an emptied Redis'))->{used}, 1, 'and a new window opens';
is_deeply ask('/x', 'a', 104), {'200 PASSED' => 99, '429 REJECTED' => 5}, 'for as many requests as ever';

# The machine hears of it while it has tokens.
is_deeply ask('/x', 'gone', 20), {'200 PASSED' => 20}, 'some of a batch are spent';
$redis->cmd('DEL', 'rl:n/3600:gone');
is_deeply ask('/x?cost=40', 'gone'), {'200 PASSED' => 1}, 'one that costs more asks, and finds another window';
is_deeply ask('/x', 'gone', 65), {'200 PASSED' => 60, '429 REJECTED' => 5}, 'of which all is spent, and nothing else';
is used('gone'), 100, 'as it is stored';

# Limits under which tokens at hand were not taken.
is_deeply ask('/plan', 'plan', 3), {'200 PASSED' => 3}, 'three pass under a high limit';
is used('plan'), 50, 'and take a batch';
my $calls = $redis->script_calls;
my $tiny  = $nginx->get('/plan?plan=tiny', 'X-Key' => 'plan');
is_deeply [$tiny->status, @{limits($tiny)}{qw(limit used remaining)}], [429, 1, 3, 0], 'none under one that is used up';
is_deeply ask('/plan?plan=tiny', 'plan', 4), {'429 REJECTED' => 4}, 'nor later';
is_deeply ask('/plan?plan=small', 'plan', 6), {'200 PASSED' => 2, '429 REJECTED' => 4}, 'two under one of five';
is_deeply ask('/plan', 'plan', 3), {'200 PASSED' => 3}, 'again under the high one';
is_deeply ask("/plan?plan=$_", 'plan', 3), {'429 REJECTED' => 3}, "and none under the $_ one" for qw(small tiny none);
my $seconds = monotonic();
my %late;
wait_until { $late{$nginx->get('/plan?plan=tiny', 'X-Key' => 'plan')->header('X-Outcome')}++; monotonic() - $seconds > 1.2 }
    what => 'one of them to ask the primary';
is_deeply [keys %late], ['REJECTED'], 'also when the primary is asked';
cmp_ok $redis->script_calls - $calls, '<=', 3 + int(monotonic() - $seconds), 'which is once a second';
is_deeply ask('/plan?cost=45', 'plan'), {'200 PASSED' => 1}, 'one that costs much passes';
is_deeply ask('/plan?cost=45&plan=small', 'plan'), {'429 REJECTED' => 1}, 'but not under a low limit';
is_deeply ask('/plan', 'plan', 55), {'200 PASSED' => 47, '429 REJECTED' => 8}, 'the high one is spent to its end';

is_deeply ask('/x', 'reload', 20), {'200 PASSED' => 20}, 'some pass';
is used('reload'), 50, 'and take a batch';
$nginx->reload(server => lines(25), wait_old => 1);
is_deeply ask('/x', 'reload', 8), {'200 PASSED' => 5, '429 REJECTED' => 3}, 'a lowered limit holds at once';
is_deeply ask('/x', 'a', 3), {'429 REJECTED' => 3}, 'who was at the limit is above it';
$nginx->reload(server => lines(130), wait_old => 1);
is_deeply ask('/x', 'reload'), {'200 PASSED' => 1}, 'a raised one admits at once';
is_deeply ask('/x', 'a', 35), {'200 PASSED' => 30, '429 REJECTED' => 5}, 'as far as it goes';
is_deeply ask('/x', 'reload', 110), {'200 PASSED' => 104, '429 REJECTED' => 6}, 'for all';
is_deeply [used('a'), used('reload')], [130, 130], 'as it is stored';

done;
