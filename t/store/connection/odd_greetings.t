# A greeting that is refused, cut at any byte, or answered by nonsense: the node is down until a greeting succeeds, says
# why at most once a second, and costs requests nothing but the next node's answer.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my %sound = (auth => simple('OK'), select => simple('OK'), info => bulk("maxmemory:0\r\n"), script => bulk('0' x 40),
    ping => simple('PONG'));
my @order    = qw(auth select info script script ping);
my $greeting = join '', @sound{@order};

my @cases = (
    (map { {kind => 'refused', command => 'auth', answer => error($_)} } 'WRONGPASS invalid username-password pair',
        'ERR invalid password', 'ERR Client sent AUTH, but no password is set', 'LOADING Redis is loading'),
    (map { {kind => 'refused', command => 'select', answer => error($_)} } 'ERR DB index is out of range',
        'NOAUTH Authentication required.', 'NOPERM no permissions', 'ERR SELECT is not allowed in cluster mode'),
    (map { {kind => 'refused', command => 'ping', answer => error($_)} } 'LOADING Redis is loading',
        'MASTERDOWN Link with MASTER is down', 'BUSY Redis is busy', 'NOAUTH Authentication required.',
        'ERR odd', ''),
    {kind => 'ignored', command => 'ping', answer => error('MISCONF Redis is configured to save')},
    (map { {kind => 'broken', command => $_, answer => "HTTP/1.1 400\r\n\r\n"} } qw(auth select info script ping)),
    (map { {kind => 'broken', command => $_, answer => "\$x\r\n"} } qw(auth select info script ping)),
    {kind => 'broken', command => 'auth', answer => 'accepted'},
    (map { my $command = $_; map { {kind => 'ignored', command => $command, answer => $_} }
        error('ERR no'), error('NOPERM no permissions'), nil(), simple('OK'), integer(-1), bulk('x' x 20_000),
        array(nil(), array(integer(1), simple('maxmemory:1'))) } qw(info script)),
    (map { {kind => 'cut',    at => $_} } 0 .. length($greeting) - 1),
    (map { {kind => 'halved', at => $_} } 1 .. length($greeting) - 1),
);

# Greetings are odd until the test says otherwise.
sub greet ($command, $conn) {
    my $sound = $sound{$command};
    my $case  = $cases[$conn->{case}];
    my $at    = $conn->{greeted} //= 0;
    $conn->{greeted} += length $sound;
    return $sound if $conn->state('sound');
    if ($case->{kind} eq 'cut' || $case->{kind} eq 'halved') {
        my $left = $case->{at} - $at;
        return $sound if $left < 0 || $left >= length $sound;
        $conn->send(substr $sound, 0, $left);
        return $conn->later(0.01, substr $sound, $left) if $case->{kind} eq 'halved';
        $conn->cut;
        return;
    }
    return $sound if $command ne $case->{command};
    return $case->{answer} if $case->{answer} ne 'accepted';
    $conn->cut(1);
    return;
}
sub answer ($words, $conn) {
    my ($command, @arguments) = @$words;
    if ($command eq 'auth') {
        ($conn->{case}) = $arguments[-1] =~ /(\d+)/;
        $conn->{server}->note('greeting', $conn->{case});
    }
    return greet($command, $conn) if exists $sound{$command};
    return hmget($words->[1] =~ /:(\d+)$/, $reset) if $command eq 'hmget';
    return $command eq 'hincrby' ? integer(2) : array(integer(1), integer($reset));
}
my $primary = RateLimit::FakeRedis->start(handler => \&answer);
my $nginx   = RateLimit::Nginx->start(
    http => join('', map { redis_block("s$_", $primary, timeouts('9s') . " password case$_; database 1;") } 0 .. $#cases),
    server => 'rate_limit_key $http_x_key; rate_limit_store s$http_x_store; rate_limit 5000r/h;
        rate_limit_error_status 529; rate_limit_exempt_status 200;
        add_header X-Outcome $rate_limit_status always; location / {} location /deny { rate_limit_on_error deny; }',
);
my $begun = time;
sub seen ($uri, @numbers) {
    my @requests = map { [$uri, 'X-Store' => $_, 'X-Key' => 1000 + $_] } @numbers;
    return map { join ' ', outcome($_), limits($_)->{used} // '' }
        $nginx->parallel(connections => 8, requests => \@requests);
}
my %fails = map { $_ => 1 } qw(refused broken cut);
my @all   = 0 .. $#cases;
sub expected ($error) { return [map { $fails{$cases[$_]{kind}} ? $error : '200 PASSED ' . (1000 + $_) } @all] }

is_deeply [seen('/deny', @all)], expected('529 ERROR_DENIED '), 'deny while a greeting fails, own counts else';
for (1 .. 5) {
    my @got = seen('/x', @all);
    is_deeply [grep { $got[$_] !~ /^200 (?:PASSED @{[1000 + $_]}|ERROR_ALLOWED )$/ } @all], [], 'allow';
}
my @failing = grep { $fails{$cases[$_]{kind}} } @all;
let_pass(2);
is_deeply [seen('/deny', @failing)], [map { '529 ERROR_DENIED ' } @failing], 'still';
my %greetings;
$greetings{$_->[1]}++ for $primary->commands('greeting');
# Tried again after 100 ms, 200 ms, 400 ms ..., each shortened by up to a half.
is_deeply [grep { $greetings{$_} > 3 + 2 * (time - $begun + 1) } @failing], [], 'tries are further and further apart';
my %lines;
my $seconds = time - $begun + 2;
$lines{$_}++ for $nginx->error_log =~ /primary \S+ of shard "a" of "s(\d+)"/g;
is_deeply [grep { !$lines{$_} } @failing], [], 'each failure is logged';
is_deeply [grep { $lines{$_} && $lines{$_} > $seconds } @all], [], 'once a second';
is_deeply [grep { $lines{$_} && !$fails{$cases[$_]{kind}} } @all], [], 'and nothing else is';
for my $n (grep { $cases[$_]{kind} eq 'refused' } @failing) {
    my $word = $cases[$n]{answer} =~ s/^-|\r\n$//gr;
    my $what = $cases[$n]{command} eq 'ping' ? 'does not serve' : 'is down';
    my $said = uc($cases[$n]{command}) . qq{: "$word"};
    like $nginx->error_log, qr/of "s$n" $what: .* \(\Q$said\E\)/, "$what: $said";
}

$primary->set(sound => 1);
my @down = @failing;
wait_until { my @got = seen('/deny', @down); @down = @down[grep { $got[$_] !~ /PASSED/ } 0 .. $#got]; !@down }
    what => 'every node to serve';
is_deeply [seen('/deny', @all)], [map { '200 PASSED ' . (1000 + $_) } @all], 'own counts again';
is $nginx->count_log(qr/exited on/), 0, 'no worker died';

done;
