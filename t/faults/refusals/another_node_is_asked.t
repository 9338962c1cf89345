# After READONLY, LOADING, MASTERDOWN, MOVED and the like nginx asks another node; if there is none, rate_limit_on_error
# decides. Whatever Redis answers, no request gets 500.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
sub answer ($words, $conn) {
    my ($command) = @$words;
    return fallback($words) if !grep { $command eq $_ } qw(hmget hincrby evalsha eval);
    my $odd = $conn->state($command eq 'hmget' ? 'reads' : 'writes') // '';
    if ($odd eq 'reset') {
        $conn->close(1);
        return;
    }
    return $odd if length $odd;
    return hmget(1, $reset) if $command eq 'hmget';
    return $command eq 'hincrby' ? integer(2) : array(integer(1), integer($reset));
}
my ($replica, $primary) = map { RateLimit::FakeRedis->start(handler => \&answer) } 1 .. 2;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$primary, $replica], always_checks()),
    server => 'rate_limit_key k; rate_limit 1000r/h store=main; '
        . 'add_header X-Outcome $rate_limit_status always; '
        . 'location / {} location /deny { rate_limit_on_error deny; }',
);
my $client = $nginx->http;
sub ask ($uri) { return outcome($client->get($uri)) }
sub healthy () {
    $_->forget for $replica, $primary;
    return wait_until { ask('/x'); $replica->commands('hmget') && $primary->commands('hincrby') }
        what => 'both nodes to be up again';
}
is ask('/deny'), '200 PASSED', 'healthy';

my %node = (
    READONLY => "-READONLY You can't write against a read only replica.\r\n",
    LOADING  => "-LOADING Redis is loading the dataset in memory\r\n",
    MASTERDOWN => "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
    MOVED    => "-MOVED 3999 127.0.0.1:6381\r\n",
    NOPERM   => "-NOPERM this user has no permissions to run the 'hmget' command\r\n",
    closed   => 'reset',
);
for my $word (sort keys %node) {
    $replica->set(reads => $node{$word});
    $primary->forget;
    is ask('/deny'), '200 PASSED', "$word from the replica: the primary answers";
    is scalar(() = $primary->commands('hmget')), 1, 'the check went there';
    $primary->set(reads => $node{$word});
    is ask('/deny'), '503 ERROR_DENIED', "$word from all nodes: rate_limit_on_error deny";
    is ask('/x'), '200 ERROR_ALLOWED', 'and allow';
    $_->set(reads => '') for $replica, $primary;
    healthy();
    is ask('/deny'), '200 PASSED', 'served again';
}

my $wrongtype = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
for my $garbage ("-ERR unknown command\r\n", $wrongtype, "+OK\r\n", ":7\r\n",
    "\$-1\r\n", "*-1\r\n", "*1\r\n\$1\r\n1\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "*2\r\n*1\r\n:1\r\n:2\r\n",
    "*2\r\n\$-1\r\n-ERR x\r\n", "*0\r\n", "-\r\n", "*2\r\n\$9\r\n\0\xff\r\n\0\0\0\0\0\r\n\$1\r\n1\r\n") {
    $_->set(reads => $garbage) for $replica, $primary;
    my $shown = $garbage =~ s/\r\n/|/gr =~ s/[^ -~]/./gr;
    my $outcome = ask('/deny');
    like $outcome, qr/^(?:503 ERROR_DENIED|200 PASSED)$/, "$shown: $outcome";
}
for my $broken ("HTTP/1.1 400 Bad Request\r\n\r\n", "*2\r\n\$x\r\n", "*99999999999\r\n",
    "\$99999999999999\r\n", "\0\0\0\0\r\n", "*2\r\n\$1\r\n1\r\n\$1\r\n1\r\n+extra\r\n") {
    $_->set(reads => $broken) for $replica, $primary;
    my $shown = $broken =~ s/\r\n/|/gr =~ s/[^ -~]/./gr;
    my $outcome = ask('/x');
    like $outcome, qr/^200 (?:ERROR_ALLOWED|PASSED)$/, "not RESP, $shown: $outcome";
}
$_->set(reads => '') for $replica, $primary;
healthy();

my %written = (
    %node,
    OOM       => "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    NOSCRIPT  => "-NOSCRIPT No matching script.\r\n",
    WRONGTYPE => $wrongtype,
    status    => "+OK\r\n",
    nothing   => "\$-1\r\n",
);
for my $word (sort keys %written) {
    $primary->forget;
    $primary->set(writes => $written{$word});
    is ask('/deny'), '200 PASSED', "a charge answered by $word: the request is through already";
    wait_until { $primary->writes } what => 'the charge';
    is ask('/deny'), '200 PASSED', 'the next one asks the replica';
    $primary->set(writes => '');
    healthy();
}
is $nginx->count_log(qr/exited/), 0, 'no worker died';

done;
