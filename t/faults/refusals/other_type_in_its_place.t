# A key of another type in a window's place blocks nobody and spares nobody: a check takes it for no window, and the next charge or reservation puts a window
# there, also where a plain HINCRBY finds it. For each type, mode and rate_limit_on_error. The log says it once, and counts what is given back as before.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $replica = RateLimit::Redis->start(replica_of => $redis);
my $backend = RateLimit::Backend->start;
my @modes   = qw(check_charge charge_refund lease);
my $nginx   = RateLimit::Nginx->start(
    up   => $backend,
    http => redis_block('main', [$redis, $replica], timeouts('9s')) . redis_block('alone', $redis, timeouts('9s') . ' prefix alone:;')
        . 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;',
    server => join '', 'location /report { rate_limit 1000r/h name=check_charge; rate_limit_report; }',
    map {
        my $mode = $_;
        "location /once-$mode { rate_limit 1000r/h name=$mode mode=$mode store=alone; }",
        "location /free-$mode { rate_limit 1000r/h name=$mode mode=$mode; proxy_pass http://%%UP%%; }",
        map { "location /$mode-$_ { rate_limit 1000r/h name=$mode mode=$mode; rate_limit_on_error $_; }" } qw(allow deny local)
    } @modes,
);
my %held = (
    string => sub ($key) { ['SET', $key, '12'] }, list => sub ($key) { ['RPUSH', $key, 1] }, set => sub ($key) { ['SADD', $key, 'used'] },
    zset   => sub ($key) { ['ZADD', $key, 1, 'used'] }, stream => sub ($key) { ['XADD', $key, '*', 'used', 1] },
);
my sub put ($type, $key) {
    $redis->cmd('DEL', $key);
    $redis->cmd(@{$held{$type}->($key)});
    wait_until { $replica->cmd('TYPE', $key) eq $type } what => 'the replica to have it';
    return;
}
my sub is_window ($key, $least, $what) {
    wait_until { $redis->cmd('TYPE', $key) eq 'hash' && ($redis->hash($key)->{used} // 0) >= $least } what => "$what: a window";
    ok $redis->cmd('PTTL', $key) > 0, "$what: a window takes its place";
    return;
}

for my $type (sort keys %held) {
    for my $mode (@modes) {
        for my $on_error (qw(allow deny local)) {
            my ($key, $what) = ("$type-$on_error", "$type, $mode, $on_error");
            my $stored = "rl:$mode/3600:$key";
            my sub ask ($uri = "/$mode-$on_error") { return outcome($nginx->get("$uri?k=$key")) }
            put($type, $stored);
            is ask(), '200 PASSED', "$what: a request passes";
            is_window($stored, 1, $what);
            is ask(), '200 PASSED', "$what: another" for 1 .. 3;
            wait_until { ($redis->hash($stored)->{used} // 0) >= 4 } what => 'their charges';
            put($type, $stored);
            is ask(), '200 PASSED', "$what: and where the window was known" for 1 .. 2;
            is_window($stored, 1, "$what, known") if $mode ne 'lease';
        }
    }
}

put('list', 'rl:check_charge/3600:report');
is_deeply [$nginx->get('/report?k=report')->status], [200], 'a report reads no window';
is $redis->cmd('TYPE', 'rl:check_charge/3600:report'), 'list', '... and changes nothing';

my $open = $nginx->reach($backend, '/free-charge_refund/slow/304?k=free');
put('list', 'rl:charge_refund/3600:free');
$redis->forget_calls;
$backend->release('gate');
is $open->response->status, 304, 'a refund to what has gone';
wait_until { $redis->script_calls } what => 'it to come';
is $redis->cmd('TYPE', 'rl:charge_refund/3600:free'), 'list', '... changes nothing';

my $before = $nginx->count_log(qr/wrongtype/);
cmp_ok $before, '>', 0, 'the log says what has happened';
for my $mode (@modes) {
    $redis->cmd('SET', "alone:$mode/3600:once", 'x');
    $nginx->get("/once-$mode?k=once") for 1 .. 3;
    is_window("alone:$mode/3600:once", 1, "$mode, once");
}
my $line = qr/\[error\] .*rate limit: primary \S+ of shard "a" of "alone" answered (?:charge|reserve)\.lua: wrongtype: the key holds something else, which a charge/;
$nginx->wait_log($line);
$nginx->stop;
my @told = grep { /of "alone" answered/ } split /\n/, $nginx->error_log;
is sum0(map { /\((\d+) such answers/ ? $1 : 1 } @told), 3, 'each is told once';
is scalar(grep { !/$line/ } @told), 0, '... by who has replaced it' or diag join "\n", @told;
is $nginx->count_log(qr/could not be checked|dropped/), 0, 'nothing went unchecked or uncharged';

done;
