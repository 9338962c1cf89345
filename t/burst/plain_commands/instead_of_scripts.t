# A plain command takes the cost, and no script, where a machine knows that the bucket in Redis has room. Whatever has happened to the
# bucket meanwhile, no more passes than the bucket had, and no client is refused what the bucket has.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my %machine = (
    http   => redis_block('main', $redis, timeouts('9s')) . 'rate_limit_key $http_x_key; rate_limit_store main;',
    server => 'location / { rate_limit 1r/m burst=100 cost=$http_x_cost name=slow; }
        location /quick { rate_limit 1000r/s burst=20 name=quick; }
        location /half { rate_limit 1r/m burst=50 name=slow; }
        location /double { rate_limit 1r/m burst=200 name=slow; }
        location /long { rate_limit 1r/h burst=4000 name=long cost=$http_x_cost; }
        location /limits/ { rate_limit_console manage; }',
);
my ($one, $other) = map { RateLimit::Nginx->start(%machine) } 1 .. 2;
my $minute = 60_000_000_000;
my $series = 0;
sub ask ($nginx, $key, $cost = 1, $uri = '/x') { return $nginx->get($uri, 'X-Key' => $key, 'X-Cost' => $cost) }
sub taken ($key) { return int((($redis->bucket("rl:slow/60b:$key"))[0] // 0) / $minute + 0.999) }

# A new client, who is asked for by a plain command after what the test does to the bucket: (client, answer). A worker that was held up
# asks by a script, and the test takes the next client.
sub plainly (%with) {
    for (1 .. 50) {
        my $key = 'k' . ++$series;
        ask($one, $key, $_) for @{$with{before} // [1]};
        $with{then}->("rl:slow/60b:$key", $key) if $with{then};
        $redis->forget_calls;
        my $answer = ask($one, $key, $with{cost} // 1);
        return ($key, $answer) if $redis->calls('bitfield') == 1;
    }
    die 'no plain command';
}

is_deeply statuses(map { ask($one, 'many') } 1 .. 110), {200 => 100, 429 => 10}, 'all of a bucket';
cmp_ok $redis->calls('bitfield'), '>=', 60, '... most of it by plain commands';
cmp_ok $redis->calls('bitfield'), '<=', 95, '... but not the last twentieth';
cmp_ok $redis->script_calls, '<=', 50, '... and few scripts';
is taken('many'), 100, '... is what Redis has';

my ($key, $answer) = plainly(before => [10], cost => 5);
is $answer->status, 200, 'a cost';
is_deeply [@{limits($answer)}{qw(limit used remaining)}], [100, 15, 85], '... that the headers show';
is taken($key), 15, '... and Redis has';
is $redis->script_calls, 0, '... without a script';
is limits(ask($other, $key))->{used}, 16, 'another machine knows of it';
is ask($one, $key, 0)->status, 200, 'a cost of nothing';
is taken($key), 16, '... takes nothing';

# The cost of an exempt request is given back while the key of the plain commands lives.
is $one->get('/x', 'X-Key' => $key, 'X-Cost' => 4, 'If-None-Match' => '*')->status, 304, 'what is exempt';
wait_until { taken($key) == 16 } what => 'its cost to go back';

# A cost that no longer fits, because others have taken nearly all, is not taken in part.
($key, $answer) = plainly(cost => 6, then => sub ($, $key) { ask($other, $key, 95) });
is $answer->status, 429, 'what another machine has taken is not there';
is taken($key), 96, '... and nothing was taken in part';
is ask($other, $key, 4)->status, 200, '... so that the rest is there';
($key, $answer) = plainly(cost => 6, then => sub ($, $key) {
    for (1 .. 2) {
        $one->get('/x', 'X-Key' => $key, 'X-Cost' => 60, 'If-None-Match' => '*');
        wait_until { taken($key) == 1 } what => 'its cost to go back';
    }
    ask($other, $key, 95);
});
is_deeply [$answer->status, taken($key)], [429, 96], '... also where more was given back than is missing';
($key, $answer) = plainly(cost => 4, then => sub ($, $key) { ask($other, $key, 95) });
is $answer->status, 200, 'what another machine has left is';
is ask($other, $key)->status, 429, '... and no more';

# The key is gone.
($key, $answer) = plainly(before => [30], cost => 7, then => sub ($name, $) { $redis->cmd('DEL', $name) });
is $answer->status, 200, 'a key that is gone was a full bucket';
is taken($key), 7, '... of which the cost is taken';
cmp_ok $redis->cmd('PTTL', "rl:slow/60b:$key"), '>', 60_000, '... and which expires';
($key, $answer) = plainly(before => [30], cost => 7, then => sub ($name, $) {
    $redis->cmd('PEXPIRE', $name, 1);
    wait_until { !$redis->cmd('EXISTS', $name) } what => 'it to expire';
});
is_deeply [$answer->status, taken($key)], [200, 7], 'one that has expired likewise';

# Another has written it.
for my $garbage ('x', 'y' x 16, '9' x 19 . ' 6000000000000', "\xff" x 40, pack('Q>3', 9e18 | 1 << 63, 0, 0)) {
    ($key, $answer) = plainly(before => [30], cost => 7, then => sub ($name, $) { $redis->cmd('SET', $name, $garbage) });
    is_deeply [$answer->status, taken($key)], [200, 7], 'garbage of ' . length($garbage) . ' bytes is a full bucket';
    cmp_ok $redis->cmd('PTTL', "rl:slow/60b:$key"), '>', 60_000, '... which expires again';
}
($key, $answer) = plainly(before => [30], cost => 7, then => sub ($name, $) { $redis->cmd('DEL', $name); $redis->cmd('HSET', $name, 'used', 1) });
is_deeply [$answer->status, taken($key)], [200, 7], 'so is another type';
($key, $answer) = plainly(cost => 7, then => sub ($name, $) { $redis->hold_bucket($name, 1e17, 100 * $minute, 90_000) });
is_deeply [$answer->status, taken($key)], [429, 100], 'the far future is an empty one';

# The bucket has been full since the machine last knew of it.
($key, $answer) = plainly(before => [50], cost => 7, then => sub ($name, $) { $redis->hold_bucket($name, -3600e9, 100 * $minute, 90_000) });
is_deeply [$answer->status, taken($key)], [200, 7], 'a bucket that has been full counts from now';
is ask($other, $key, 94)->status, 429, '... and not from then';
is ask($other, $key, 93)->status, 200, '... exactly';
$redis->forget_calls;
my $full = 0;
for my $round (1 .. 20) {
    wait_until { (($redis->bucket('rl:quick/1b:q'))[0] // 0) <= 0 } what => 'the bucket to be full';
    my $begun   = monotonic();
    my $passed  = grep { $one->get('/quick', 'X-Key' => 'q')->status == 200 } 1 .. 60;
    my $refills = (monotonic() - $begun) * 1000;
    $full++ if $passed >= 20;
    cmp_ok $passed, '<=', 20 + $refills, "round $round: no more than were there, and came back";
}
is $full, 20, 'a full bucket has all of its burst, each time';
cmp_ok $redis->calls('bitfield'), '>', 20, '... also by plain commands';

# Limits of several bursts share it.
$redis->forget_calls;
my @uris = ('/half', '/double', '/x');
my %of;
$of{$uris[$_ % 3]} += ask($_ % 2 ? $one : $other, 'shared', 1, $uris[$_ % 3])->status == 200 for 0 .. 509;
is $of{'/half'} + $of{'/double'} + $of{'/x'}, 200, 'limits that share it take as much as the greatest holds';
cmp_ok $of{'/half'}, '<=', 50, '... the least no more than it holds';
cmp_ok $of{'/half'} * 2, '<=', $of{'/x'} + 2, '... and as fast as the others';

# A cost that others take may leave the key a shorter life than the bucket takes to be full.
for my $try (1 .. 50) {
    my $client = "long$try";
    ask($one, $client, 1, '/long');
    my $lives = $redis->cmd('PTTL', "rl:long/3600b:$client");
    # 4000 hours to fill, so that the key lives 251 hours longer than the bucket takes to be full; others take 300.
    my ($missing, $longest) = $redis->bucket("rl:long/3600b:$client");
    $redis->hold_bucket("rl:long/3600b:$client", 240 * 3600e9, $longest, $lives);
    $redis->forget_calls;
    is ask($one, $client, 200, '/long')->status, 200, 'what the key does not outlive is taken';
    next if !$redis->calls('bitfield');
    ($missing) = $redis->bucket("rl:long/3600b:$client");
    is int($missing / 3600e9 + 0.999), 440, '... once';
    cmp_ok $redis->cmd('PTTL', "rl:long/3600b:$client"), '>', $missing / 1e6 + 60_000, '... and the key lives as long';
    is $redis->script_calls, 1, '... by one script';
    last;
}

# An operator's look and acts.
($key) = plainly(before => [10], cost => 5);
my $before = $redis->cmd('PTTL', "rl:slow/60b:$key");
my $seen = decode_json($one->post('/limits/key', "key=$key&limit=slow", 'Content-Type' => 'application/x-www-form-urlencoded')->body);
my ($of_100) = grep { $_->{limit} >= 100 } @{$seen->{windows}};
is $of_100->{used}, 15, 'a look-up';
cmp_ok $redis->cmd('PTTL', "rl:slow/60b:$key"), '<=', $before, '... changes nothing';
$one->post('/limits/key', "do=reset&key=$key&limit=slow", 'Content-Type' => 'application/x-www-form-urlencoded');
is limits(ask($one, $key))->{used}, 1, 'a reset';

is $_->count_log(qr/rate limit: (?!.*(?:"cost"|wrongtype))/), 0, 'nothing in the log' for $one, $other;

done;
