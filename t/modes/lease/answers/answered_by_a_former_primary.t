# The answer of a former primary to a batch, or to one that was asked for again, comes after the next primary has granted another. What
# passes is what that one counts, whether it had heard of the batch or not; and requests go on.

use RateLimit::Test;

for my $case ('sent', 'sent, unheard', 'sent again', 'sent again, unheard') {
    my $redis   = RateLimit::Redis->start;
    my $replica = RateLimit::Redis->start(replica_of => $redis);
    my $former  = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
        return $answer if $words->[0] ne 'evalsha' || @$words != 15 || $words->[3] !~ /:k$/;
        return $conn->state('cut') ? $conn->cut(1) : $conn->hold('gate', $answer);
    }));
    my $next     = RateLimit::FakeRedis->start(handler => relaying($replica, sub ($words, $conn, $answer) { $answer }));
    my $sentinel = RateLimit::FakeRedis->start(handler => watching, state => {primary => '127.0.0.1 ' . $former->port . ' 1'});
    my $nginx    = RateLimit::Nginx->with_limit('1000r/h mode=lease',
        'rate_limit_redis main { sentinel ' . $sentinel->address . '; shard a master=m; ' . timeouts('9s') . ' }',
        more => 'rate_limit_lease 10; rate_limit_on_error deny;');
    my sub asks ($key) { return $nginx->get('/x', 'X-Key' => $key)->status }
    my sub batches ($of) { return scalar grep { is_batch($_) && $_->[3] =~ /:k$/ } $of->commands('evalsha') }
    wait_until { asks('early') == 200 } what => 'the primary to be known';
    wait_until { $replica->used('early') } what => 'the replica to follow';

    $replica->cmd('REPLICAOF', 'NO', 'ONE') if $case =~ /unheard/;
    my $waiting;
    if ($case =~ /again/) {
        $former->set(cut => 1);
        is asks('k'), 503, "$case: the answer is lost";
        $former->set_and_forget(cut => 0);
        wait_until { batches($former) } what => 'the batch to be asked for again';
    } else {
        $waiting = $nginx->begin('/x', 'X-Key' => 'k');
        wait_until { batches($former) } what => 'the batch to be asked for';
    }
    wait_until { $replica->used('k') == 10 } what => 'the replica to hear of it' if $case !~ /unheard/;
    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    $sentinel->set(primary => '127.0.0.1 ' . $next->port . ' 2');
    $nginx->wait_log(qr/before it was/);
    my $other = 0;
    wait_until { asks('other' . $other++); $next->commands('evalsha') } what => 'the next primary to be asked';
    my $passed = 0;
    my sub pass ($count) { $passed += grep { asks('k') == 200 } 1 .. $count; return $passed }
    is pass(1), 1, "$case: the next primary is asked, too";
    $former->release('gate');
    $passed++ if $waiting && $waiting->response->status == 200;
    my $before = $passed;
    is pass(40), $before + 40, '... and all pass after the answer';
    $nginx->stop;
    is $replica->used('k'), $passed, '... and are what is stored in the end';
}

done;
