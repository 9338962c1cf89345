# A batch whose answer is lost with the primary: the new primary tells what it was granted, if it has heard of it; and grants it anew,
# if it has not. Either way it counts what passed and what is left, exactly.

use RateLimit::Test;

for my $heard (1, 0) {
    my $case    = $heard ? 'the replica has heard of it' : 'the replica has not heard of it';
    my $away    = 0;
    my $redis   = RateLimit::Redis->start;
    my $replica = RateLimit::Redis->start(replica_of => $redis);
    my $relay   = RateLimit::FakeRedis->start(handler => do {
        my $relaying = relaying($redis, sub ($words, $conn, $answer) {
            return $answer if $words->[0] ne 'evalsha' || @$words != 15 || $away;
            $away = 1;
            return $conn->cut(1);
        });
        sub ($words, $conn) { return $away && !$conn->state('to') ? $conn->cut(1) : $relaying->($words, $conn) }
    });
    my $nginx = RateLimit::Nginx->with_limit('1000r/h mode=lease', redis_block('main', $relay, timeouts('9s')),
        more => 'rate_limit_lease 10; rate_limit_on_error deny;');
    my sub asks ($count) { return statuses(map { $nginx->get('/x', 'X-Key' => 'k') } 1 .. $count) }
    my sub batches () { return grep { is_batch($_) } $relay->commands('evalsha') }

    $replica->cmd('REPLICAOF', 'NO', 'ONE') if !$heard;
    is_deeply asks(1), {503 => 1}, "$case: its answer is lost";
    is $redis->used('k'), 10, '... the primary counts it';
    if ($heard) {
        wait_until { $replica->used('k') == 10 } what => 'the replica to hear of it';
        $replica->cmd('REPLICAOF', 'NO', 'ONE');
    }
    $redis->stop;
    $relay->set(to => $replica->port);
    wait_until { asks(1)->{200} } what => 'the new primary';
    is_deeply asks(9), {200 => 9}, '... serves a batch';
    is $replica->used('k'), 10, '... and counts it once';
    is_deeply asks(1), {200 => 1}, '... and the next one';
    is $replica->used('k'), 20, '... too';
    my ($first, $second) = batches();
    is $first->[14], $second->[14], '... which was asked for under the same number';
    $nginx->stop;
    is $replica->used('k'), 11, 'what passed is what is stored in the end';
    is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';
}

done;
