# The call for a batch that comes to Redis late, after the worker has asked again, takes nothing: neither where it was the same one, nor
# where a later batch has overtaken it.

use RateLimit::Test;

my $seen  = 0;
my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => do {
    my $relaying = relaying($redis, sub ($words, $conn, $answer) { $answer });
    sub ($words, $conn) {    # the second call is on its way for ever
        return is_batch($words) && ++$seen == 2 ? $conn->cut(1) : $relaying->($words, $conn);
    }
});
my $nginx = RateLimit::Nginx->with_limit('1000r/h mode=lease', redis_block('main', $relay, timeouts('9s')),
    more => 'rate_limit_lease 10; rate_limit_on_error deny;');
my sub asks ($count) { return statuses(map { $nginx->get('/x', 'X-Key' => 'k') } 1 .. $count) }
my sub batches () { return grep { is_batch($_) } $relay->commands('evalsha') }

is_deeply asks(10), {200 => 10}, 'a batch is spent';
is_deeply asks(1), {503 => 1}, 'the next one does not come';
wait_until { batches() > 2 } what => 'the worker to ask again';
wait_until { asks(1)->{200} } what => 'the one after';
my ($before, $late, $again) = batches();
is_deeply [@$late[13, 14]], [@$again[13, 14]], 'it is asked for again under the same number';
isnt $late->[14], $before->[14], '... of its own';
my sub replay ($words) { return [@{$redis->cmd(@$words)}[0, 1]] }
is $redis->used('k'), 20, 'two batches are granted';
is_deeply replay($_), [0, 20], 'an earlier call that comes now is granted nothing' for $before;
my $told = replay($late);
ok "@$told" eq '0 20' || "@$told" eq '10 20', 'the one that was asked for again hears what that was granted';
is_deeply asks(10), {200 => 10}, 'requests go on';
is_deeply replay($late), [0, 30], 'after another batch it is granted nothing';
is $redis->used('k'), 30, '... and takes nothing';
$nginx->stop;
is $redis->used('k'), 21, 'what passed is what is stored in the end';

done;
