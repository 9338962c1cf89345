# The histogram of waits has each answer, and each wait that check_timeout has ended, once, in the bucket of its length: buckets never decrease, and
# the last one is the count.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my $end = monotonic() + ($conn->state('busy') // 0);
    1 while monotonic() < $end;
    return $conn->hold('gate', hmget(undef, undef)) if $conn->state('held');
    return hmget(undef, undef);
});
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { shard one primary=@{[$redis->address]}; check_timeout 2s; fresh off; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 1000r/h name=w; }',
);
my sub histogram () {
    my %bucket;
    my $text = $nginx->get('/limits/metrics')->body;
    $bucket{$1} = $2 while $text =~ /^nginx_rate_limit_store_wait_seconds_bucket\{store="main",shard="one",le="([^"]+)"\} (\d+)$/mg;
    my ($count) = $text =~ /^nginx_rate_limit_store_wait_seconds_count\{[^}]*\} (\d+)$/m;
    my ($sum)   = $text =~ /^nginx_rate_limit_store_wait_seconds_sum\{[^}]*\} (\S+)$/m;
    return (\%bucket, $count, $sum);
}
my sub is_sound ($what) {
    my ($bucket, $count) = histogram();
    my @bounds = sort { $a <=> $b } grep { $_ ne '+Inf' } keys %$bucket;
    is_deeply \@bounds, [qw(0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1)], "$what: the bounds";
    my @counts = @$bucket{@bounds, '+Inf'};
    is_deeply \@counts, [sort { $a <=> $b } @counts], '... whose counts never decrease';
    is $counts[-1], $count, '... up to the count';
    return;
}
is_sound('at first');
$nginx->get("/?k=$_") for 1 .. 20;
my ($bucket, $count, $sum) = histogram();
is $count, 20, 'each answer is there';
cmp_ok $sum, '>', 0, 'and took its time';

# Below a millisecond, too. A machine that is busy makes waits longer, never shorter.
$redis->set(busy => 0.00055);
($bucket, $count) = histogram();
my ($short, $answered, $asked);
wait_until {
    $nginx->get('/?k=' . rand) for 1 .. 20;
    $asked += 20;
    ($short, $answered) = histogram();
    $short->{'0.001'} > $bucket->{'0.001'}
} what => 'an answer in less than a millisecond', timeout => 60;
is $answered, $count + $asked, 'after 0.55 ms: all are there';
is $short->{'0.0005'}, $bucket->{'0.0005'}, '... and none in the buckets of 0.5 ms and less';
$redis->set(busy => 0);

($bucket, $count, $sum) = histogram();
$redis->set(held => 1);
my $slow = $nginx->begin('/?k=slow');
wait_until { grep { $_->[1] =~ /slow/ } $redis->commands('hmget') } what => 'the question';
let_pass(0.12);
$redis->release('gate');
is $slow->response->status, 200, 'a late answer';
my ($later, $now_count, $now_sum) = histogram();
is $now_count, $count + 1, 'is there';
is $later->{'0.1'}, $bucket->{'0.1'}, 'and in no bucket that is too short';
cmp_ok $now_sum - $sum, '>=', 0.12, 'the sum has grown by it';

my $never = $nginx->begin('/?k=never');
is $never->response->status, 200, 'no answer';
my ($last, $last_count) = histogram();
is $last_count, $count + 2, 'is a wait, too';
is $last->{'0.25'}, $later->{'0.25'}, 'of all of check_timeout';
is_sound('in the end');

done;
