# A thousand reports in a second for one client send at most two commands to Redis, whichever workers make them: those of the same time wait for
# one read, and the next ones take what it found. A report opens no window, takes no tokens and changes no window.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $lines = join '', map { "rate_limit 100r/h name=$_ mode=$_;" } qw(check_charge charge_refund lease);
my $nginx = RateLimit::Nginx->start(
    workers   => 2,
    reuseport => 1,
    http      => redis_block('main', $redis),
    server    => "keepalive_requests 100000; rate_limit_store main; rate_limit_key \$http_x_key; add_header X-Worker \$pid;
        location = /report { rate_limit_report; rate_limit 100r/h name=one; } location = /all { rate_limit_report; $lines }
        location /use { $lines rate_limit 100r/h name=one; }",
);
my sub reports ($uri, $key, $count) {
    $redis->forget_calls;
    my $from  = now;
    my @all   = $nginx->parallel(connections => 32, requests => $count, uri => $uri, headers => ['X-Key' => $key]);
    my $spans = ceil(now - $from) + 1;    # each second of them may have one read, and the first
    is_deeply statuses(@all), {200 => $count}, "$count reports";
    return $spans, @all;
}

my ($most, @all) = reports('/report', 'new', 1000);
is scalar(workers_of(@all)), 2, 'of two workers';
cmp_ok $redis->calls('hmget'), '<=', $most, 'few commands for a client without a window';
cmp_ok $redis->calls('hmget'), '>=', 1, '... but some';
is_deeply [$redis->keys], [], 'no window is opened';
is_deeply [map { $_->json->{rate}{used} } @all[0, -1]], [0, 0], '... and nothing used';

($most) = reports('/all', 'new', 1000);
cmp_ok $redis->calls('hmget'), '<=', 3 * $most, 'of three limits';
is $redis->calls($_), 0, "no $_" for qw(hincrby hset evalsha eval);
is_deeply [$redis->keys], [], '... and no tokens taken';

$nginx->get('/use', 'X-Key' => 'old') for 1 .. 3;
wait_until { $redis->used('old', 'one/3600') == 3 } what => 'the charges';
my %before = %{$redis->used_by_key};
($most, @all) = reports('/all', 'old', 1000);
cmp_ok $redis->calls('hmget'), '<=', 3 * $most, 'few commands for a client with windows';
is_deeply $_->json->{resources}{lease}{used}, 3, 'tokens at hand are not used' for @all[0, -1];
is_deeply $redis->used_by_key, \%before, 'the windows are as they were';
($most) = reports('/report', 'old', 1000);
cmp_ok $redis->calls('hmget'), '<=', $most, 'what the primary has just told is not asked for again';

# While a node is silent all wait for the one read of whichever worker was first.
my $slow = RateLimit::FakeRedis->start(handler => holding_reads());
my $two  = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => redis_block('slow', $slow, timeouts('20s')),
    server  => 'add_header X-Worker $pid; location /report { rate_limit_report; rate_limit 9r/h key=k store=slow; }',
);
my @waiting = map { $two->begin('/report') } 1 .. 30;
wait_until { $slow->commands('hmget') } what => 'the read';
let_pass(0.1);
is scalar($slow->commands('hmget')), 1, 'one read';
$slow->release('gate');
my @answers = map { $_->response } @waiting;
is_deeply statuses(@answers), {200 => 30}, '... for all';
is scalar(workers_of(@answers)), 2, '... of both workers';
is scalar($slow->commands('hmget')), 1, '... without another';

# A charge of another machine is known here after a second.
$redis->cmd('HSET', 'rl:one/3600:new', used => 7, reset => int((now + 1800) * 1000));
wait_until { $nginx->get('/report', 'X-Key' => 'new')->json->{rate}{used} == 7 } what => 'another machine\'s charges';
pass 'a reading is kept for a second';

done;
