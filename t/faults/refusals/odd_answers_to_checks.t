# Whatever a node answers to a check, the outcome is defined: the next node's answer, no window, or
# rate_limit_on_error. Nobody is let through against a known count, and nobody gets another's.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $other = hmget(777, $reset);

# The node cannot serve: the next one is asked, and the log says what is wrong.
my %refused = (
    "READONLY You can't write against a read only replica." => 'readonly: it is a replica now',
    'LOADING Redis is loading the dataset in memory'        => 'loading: it reads its data',
    'MASTERDOWN Link with MASTER is down'                   => 'masterdown: it has no primary',
    'BUSY Redis is busy running a script.'                  => 'busy: a script runs for too long',
    "OOM command not allowed when used memory > 'maxmemory'." => 'oom: its maxmemory is reached',
    'MISCONF Redis is configured to save RDB snapshots'     => 'unwilling: it takes no writes',
    'NOREPLICAS Not enough good replicas to write.'         => 'unwilling: it takes no writes',
    'ERR max number of clients reached'                     => 'denied: it takes no more clients',
    'NOAUTH Authentication required.'                       => 'auth: see username and password \(HMGET: "NOAUTH',
    'WRONGPASS invalid username-password pair'              => 'auth: see username and password',
    'NOPERM this user has no permissions'                   => 'noperm: its user may not run .* \(HMGET: "NOPERM this user has no permissions"\)',
    'MOVED 3999 127.0.0.1:6381'                             => 'moved: another node of its Redis Cluster serves the slot: if "shard" names it, use "cluster"',
    'ASK 3999 127.0.0.1:6381'                               => 'ask: its Redis Cluster is moving the slot: if "shard" names it, use "cluster"',
    'CLUSTERDOWN Hash slot not served'                      => 'clusterdown: its Redis Cluster is down',
    'TRYAGAIN Multiple keys request during rehashing'       => 'tryagain: its Redis Cluster is moving the slot',
);

# An answer, but no window can be read from it: rate_limit_on_error decides.
my @unreadable = (
    error('ERR unknown command'), error(''), error('NOSCRIPT none'),
    error('x' x 20_000), simple('OK'), integer(7), integer('-9223372036854775808'), bulk(''), bulk("\0\xff\r\n"),
    bulk('x' x 40_000), nil(), "*-1\r\n", "*0\r\n", hmget(1), hmget(1, $reset, 3), array(integer(1), array(integer(1))),
    array($other, $other), array(map { bulk($_) } 1 .. 5000), array(array(array(array(array(integer(1)))))),
    array(simple('OK'), error('ERR x')), "*1\r\n" x 40 . ":1\r\n",
);

# A pair that holds no window: as if there were none.
my @no_window = (
    hmget(undef, undef), hmget(5, undef), hmget('', ''), hmget('many', $reset), hmget(-5, $reset), hmget(5, -1),
    hmget(5, '9' x 40), hmget("\0\xff\r\n", 'x' x 20_000), hmget(5, $reset - 7_200_000),
    error('WRONGTYPE Operation against a key holding the wrong kind of value'),
);

# Not the protocol, or the connection ends: the next node is asked.
my @broken = (
    "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0\r\n", "\$x\r\n", "\$-2\r\n", "*2\r\n\$x\r\n", "*99999999999\r\n",
    "*-7\r\n", ":x\r\n", ":99999999999999999999\r\n", 'close', 'reset',
);

# The end of the answer never comes.
my @silent = ('', '*', "*2\r\n", "*2\r\n\$1\r\n", "\$99999999999999\r\n", "\$500000000\r\n" . 'x' x 70_000,
    "*4000000000\r\n", '-LOADING');

my @cases = (
    (map { {kind => 'refused', answer => error($_), log => $refused{$_}} } sort keys %refused),
    (map { {kind => 'unreadable', answer => $_} } @unreadable),
    (map { {kind => 'no window', answer => $_} } @no_window),
    (map { {kind => 'broken', answer => $_} } @broken),
    (map { {kind => 'broken', cut => $_} } 0 .. length(hmget(10, $reset)) - 1),
    (map { {kind => 'halved', cut => $_} } 1 .. length(hmget(10, $reset)) - 1),
    (map { {kind => 'silent', answer => $_} } @silent),
);

# An answer in order whose connection ends, or pauses, after some bytes.
sub cut ($case, $answer, $conn) {
    return $answer if @{$conn->{queue}};    # what is sent now goes before what waits
    $conn->send(substr $answer, 0, $case->{cut}, '');
    return $conn->later(0.005, $answer) if $case->{kind} eq 'halved';
    $conn->cut;
    return;
}

# Store rN: the replica answers so. Store bN: both nodes do. Key STORE.odd.COUNT is answered so, STORE.sound.COUNT in
# order.
sub node ($role) {
    return RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return fallback($words) if $words->[0] ne 'hmget';
        my ($where, $case, $kind, $count) = $words->[1] =~ /:(.)(\d+)\.(\w+)\.(\d+)$/;
        return hmget($count, $reset) if $kind eq 'sound' || $role eq 'primary' && $where eq 'r';
        return cut($cases[$case], hmget($count, $reset), $conn) if defined $cases[$case]{cut};
        my $answer = $cases[$case]{answer};
        return $conn->cut($answer eq 'reset') if $answer =~ /^(?:close|reset)$/;
        return $answer if $cases[$case]{kind} ne 'silent';
        $conn->send($answer);
        return $conn->hold('never', '');
    });
}
my ($primary, $replica) = map { node($_) } qw(primary replica);
sub store ($name) {
    my $timeouts = $cases[substr $name, 1]{kind} eq 'silent' ? 'check_timeout 3s; charge_timeout 4s;'
        : 'check_timeout 9s; charge_timeout 9s;';
    return redis_block($name, [$primary, $replica], "connect_timeout 9s; $timeouts");
}
my @stores = map { ("r$_", "b$_") } 0 .. $#cases;
my $nginx  = RateLimit::Nginx->start(
    http   => join('', map { store($_) } @stores) . 'rate_limit_exempt_status 200; rate_limit_error_status 529;',
    server => 'rate_limit_key $http_x_key; rate_limit_store $http_x_store; rate_limit 1000r/h;
        add_header X-Outcome $rate_limit_status always; location / {} location /deny { rate_limit_on_error deny; }',
);
sub request ($uri, $store, $kind, $count) {
    return [$uri, 'X-Store' => $store, 'X-Key' => "$store.$kind.$count"];
}
sub seen ($response) { return join ' ', outcome($response), limits($response)->{used} // '' }

my %error = ('/x' => '200 ERROR_ALLOWED ', '/deny' => '529 ERROR_DENIED ');
sub expected ($case, $where, $uri, $count) {
    my $own = $count < 1000 ? "200 PASSED $count" : "429 REJECTED $count";
    return $own if $case->{kind} eq 'halved' || $where eq 'r' && $case->{kind} =~ /^(?:refused|broken|silent)$/;
    return $case->{kind} eq 'no window' ? '200 PASSED 0' : $error{$uri};
}

sub requests ($store) {
    my ($where, $n) = $store =~ /(.)(\d+)/;
    my @requests;
    for my $count (map { 10 * $_ + 3000 * ($_ % 2) } 1 .. 4) {
        my $uri   = $count % 20 ? '/deny' : '/x';
        my $sound = $count < 1000 ? '200 PASSED ' . ($count + 1) : '429 REJECTED ' . ($count + 1);
        push @requests, [request($uri, $store, 'odd', $count), expected($cases[$n], $where, $uri, $count)],
            [request('/x', $store, 'sound', $count + 1), $sound, $where eq 'b' ? $error{'/x'} : ()];
    }
    return @requests;
}
sub ask (@group) {
    my @requests = map { requests($_) } @group;
    my @responses = $nginx->parallel(connections => scalar @requests, requests => [map { $_->[0] } @requests]);
    for my $store (@group) {
        my ($where, $case) = (substr($store, 0, 1), $cases[substr $store, 1]);
        my @wrong;
        for (requests($store)) {
            my ($request, @expected) = @$_;
            my $got = seen(shift @responses);
            push @wrong, "$request->[4]: $got, not $expected[0]" if !grep { $_ eq $got } @expected;
        }
        my $answer = substr($case->{answer} // "after $case->{cut} bytes", 0, 50) =~ s/\r\n/|/gr =~ s/[^ -~]/./gr;
        is_deeply \@wrong, [], ($where eq 'r' ? 'from the replica' : 'from both') . ", $case->{kind}: $answer";
        my $node = $where eq 'r' ? 'replica' : 'primary';
        $nginx->wait_log(qr/$node \S+ of shard "a" of "$store" does not serve: $case->{log}/) if $case->{log};
    }
    return;
}
my @silent_stores = grep { $cases[substr $_, 1]{kind} eq 'silent' } @stores;
my %silent = map { $_ => 1 } @silent_stores;
ask($_) for grep { !$silent{$_} } @stores;
ask(@silent_stores);

my @down = @stores;
wait_until {
    my @responses = $nginx->parallel(connections => 8, requests => [map { request('/deny', $_, 'sound', 4) } @down]);
    @down = @down[grep { seen($responses[$_]) ne '200 PASSED 4' } 0 .. $#down];
    !@down
} what => 'every store to serve again';
wait_until {
    $replica->forget;
    $nginx->parallel(connections => 8, requests => [map { request('/deny', $_, 'sound', 4) } @stores]);
    $replica->commands('hmget') == @stores
} what => 'every replica to be asked again';
is $nginx->count_log(qr/exited/), 0, 'no worker died';

done;
