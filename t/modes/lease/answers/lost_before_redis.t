# A batch that never came to Redis, and is asked for again in vain because that answer is lost, too: the worker hears at last that nothing was
# granted, whether there is a window or not, and requests go on. If the first call comes after all, it takes nothing.

use RateLimit::Test;

my %lost;
my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => do {
    my $relaying = relaying($redis, sub ($words, $conn, $answer) {
        return is_batch($words) && ($lost{$words->[3]} // 0) == 2 ? $conn->cut(1) : $answer;
    });
    sub ($words, $conn) {
        return $relaying->($words, $conn) if $words->[0] ne 'evalsha' || @$words != 15 || !$conn->state('lossy');
        return $lost{$words->[3]}++ ? $relaying->($words, $conn) : $conn->cut(1);
    }
});
my $nginx = RateLimit::Nginx->with_limit('1000r/h mode=lease', redis_block('main', $relay, timeouts('9s')),
    more => 'rate_limit_lease 10; rate_limit_on_error deny;');
my sub asks ($key, $count) { return statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. $count) }
my sub batches ($key) { return grep { is_batch($_) && $_->[3] =~ /:$key$/ } $relay->commands('evalsha') }

is_deeply asks('open', 10), {200 => 10}, 'a batch is spent';
$relay->set(lossy => 1);
my %spent = (open => 10, fresh => 0);
for my $key (sort keys %spent) {
    my $before = batches($key);
    is_deeply asks($key, 1), {503 => 1}, "$key: the next one does not come to Redis";
    wait_until { batches($key) >= $before + 3 } what => 'the worker to ask twice';
    my ($lost) = (batches($key))[$before];
    my $passed = $spent{$key};
    is $redis->used($key), $passed, '... and none is granted';
    is_deeply [@{$redis->cmd(@$lost)}[0, 1]], [0, $passed], '... nor to the call that comes now';
    wait_until { asks($key, 1)->{200} } what => 'requests to pass';
    is_deeply asks($key, 25), {200 => 25}, '... and they go on';
    is_deeply [@{$redis->cmd(@$lost)}[0, 1]], [0, $passed + 30], '... and so does it if it comes then';
}
$nginx->stop;
is_deeply {map { $_ => $redis->used($_) } keys %spent}, {map { $_ => $spent{$_} + 26 } keys %spent}, 'what passed is what is stored in the end';
is $nginx->count_log(qr/doubt|malformed/), 0, 'nothing is in doubt';

done;
