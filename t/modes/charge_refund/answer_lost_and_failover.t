# A refund whose answer is lost with the primary is sent again: the next primary counts it once, whether it had heard of it or not. One
# that was answered and that the next primary has not heard of is lost: it counts there until the window ends, and no more than that passes.

use RateLimit::Test;

my %after = ('heard of' => 3, 'not heard of' => 3, 'answered, not heard of' => 3 + 4);
for my $case (sort keys %after) {
    my $away    = 0;
    my $redis   = RateLimit::Redis->start;
    my $replica = RateLimit::Redis->start(replica_of => $redis);
    my $relay   = RateLimit::FakeRedis->start(handler => do {
        my $relaying = relaying($redis, sub ($words, $conn, $answer) {
            return $answer if $words->[0] ne 'evalsha' || @$words != 9 || $case =~ /answered/ || $away++;
            return $conn->cut(1);
        });
        sub ($words, $conn) { return $away && !$conn->state('to') ? $conn->cut(1) : $relaying->($words, $conn) }
    });
    my $backend = RateLimit::Backend->start;
    my $nginx   = RateLimit::Nginx->start(
        http   => redis_block('main', $relay, timeouts('9s')),
        server => 'rate_limit_store main; rate_limit_key k; rate_limit_mode charge_refund; rate_limit_cost $arg_cost; rate_limit_on_error deny;
            location / { rate_limit 10r/h; } location /up { rate_limit 10r/h; proxy_pass http://' . $backend->address . '; }',
    );
    my sub asks ($count) { return statuses(map { $nginx->get('/x?cost=1') } 1 .. $count) }
    my sub refunds ()    { return grep { is_refund($_) } $relay->commands('evalsha') }

    is_deeply asks(3), {200 => 3}, "$case: three pass";
    my $exempt = $nginx->reach($backend, '/up?cost=4&slow&status=304');
    wait_until { $replica->used('k') == 7 } what => 'the replica to hear of all four';
    $replica->cmd('REPLICAOF', 'NO', 'ONE') if $case =~ /not/;
    $backend->release('gate');
    is $exempt->response->status, 304, '... one is exempt';
    wait_until { $redis->used('k') == 3 } what => 'the refund';
    wait_until { $replica->used('k') == 3 } what => 'the replica to hear of it' if $case !~ /not/;
    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    $redis->stop;
    $relay->set(to => $replica->port);
    $relay->drop(1) if $case =~ /answered/;
    wait_until { $replica->used('k') == $after{$case} && ($case =~ /answered/ || refunds() > 1) } what => 'the next primary to count it';
    my $passed = 0;
    wait_until { ($nginx->get('/x?cost=1')->status == 200 ? ++$passed : 0) == 10 - $after{$case} } what => 'the rest of the limit';
    is $replica->used('k'), 10, '... after which the limit is reached';
    my %numbers = map { $_->[8] => 1 } refunds();
    is_deeply [scalar(keys %numbers), asks(1)], [1, {429 => 1}], '... by all that is known, under one number';
    $nginx->stop;
    is $replica->used('k'), 10, '... to the end';
    is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';
}

done;
