# Whatever a primary answers to a charge, the outcome is defined: taken; waiting until it is taken; dropped and counted;
# or in doubt and never sent again. No request notices.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my %sound = (evalsha => array(integer(1), integer($reset)), hincrby => integer(43));

my %paused = (
    "READONLY You can't write against a read only replica."   => 'readonly: it is a replica now',
    "OOM command not allowed when used memory > 'maxmemory'." => 'oom: its maxmemory is reached',
    'MISCONF Redis is configured to save RDB snapshots'       => 'unwilling: it takes no writes',
    'NOREPLICAS Not enough good replicas to write.'           => 'unwilling: it takes no writes',
    'NOPERM this user has no permissions'                     => 'noperm: its user may not run .* \((?:charge.lua|HINCRBY): "NOPERM',
    'ERR The user executing the script can\'t run this'        => 'noperm: its user may not run',
    'ERR ACL failure in script: User has no permissions'      => 'noperm: its user may not run',
    "ERR unknown command 'EVALSHA', with args beginning with: " => 'nolua: it runs no Lua scripts',
);
my %refused = (
    'LOADING Redis is loading the dataset in memory'  => 'loading: it reads its data',
    'MASTERDOWN Link with MASTER is down'             => 'masterdown: it has no primary',
    'BUSY Redis is busy running a script.'            => 'busy: a script runs for too long',
    'NOAUTH Authentication required.'                 => 'auth: see username and password',
    'WRONGPASS invalid username-password pair'        => 'auth: see username and password',
    'MOVED 3999 127.0.0.1:6381'                       => 'moved: another node of its Redis Cluster serves the slot: if "shard" names it, use "cluster"',
    'CLUSTERDOWN Hash slot not served'                => 'clusterdown: its Redis Cluster is down',
);
my %dropped = (
    'NOSCRIPT No matching script.'                    => 'noscript: it does not keep scripts',
    'WRONGTYPE Operation against a wrong kind'        => 'wrongtype: the key holds something else',
    'ERR unknown command'                             => 'another error',
    ''                                                => 'another error',
);
my @taken = (
    simple('OK'), nil(), "*-1\r\n", "*0\r\n", bulk(''), bulk('x' x 40_000), integer('-9223372036854775808'),
    array(nil(), nil()), array(integer(1), array(integer(1))), array(map { integer($_) } 1 .. 5000),
    "*1\r\n" x 40 . ":1\r\n",
);
my @broken = (
    "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\r\n", "\$x\r\n", "*99999999999\r\n", "*2\r\n:1\r\n:x\r\n", 'reset',
);
my @silent = ('', "*2\r\n:1\r\n", "\$99999999999999\r\n");
my @cases  = (
    (map { {kind => 'paused',  answer => error($_), log => "refuses charges: $paused{$_}"} } sort keys %paused),
    (map { {kind => 'refused', answer => error($_), log => "does not serve: $refused{$_}"} } sort keys %refused),
    (map { {kind => 'dropped', answer => error($_), log => "were dropped: $dropped{$_}"} } sort keys %dropped),
    (map { {kind => 'taken',   answer => $_} } @taken),
    (map { {kind => 'broken',  answer => $_, log => 'were sent and not answered: they are in doubt'} } @broken),
    (map { {kind => 'silent',  answer => $_, log => 'were sent and not answered: they are in doubt'} } @silent),
    (map { {kind => 'cut', at => $_, log => 'were sent and not answered: they are in doubt'} }
        0 .. length($sound{evalsha}) - 1),
    (map { {kind => 'halved', at => $_} } 1 .. length($sound{evalsha}) - 1),
);
sub odd ($case, $command, $conn) {
    my ($kind, $answer) = @$case{qw(kind answer)};
    my $sound = $sound{$command};
    if ($kind eq 'cut' || $kind eq 'halved') {
        return $sound if $kind eq 'halved' && @{$conn->{queue}};    # what is sent now goes before what waits
        my $at = $case->{at} < length $sound ? $case->{at} : length($sound) - 1;
        $conn->send(substr $sound, 0, $at);
        return $conn->later(0.01, substr $sound, $at) if $kind eq 'halved';
        $conn->cut;
        return;
    }
    return $conn->cut(1) if $answer eq 'reset';
    return $answer if $kind ne 'silent';
    $conn->send($answer);
    return $conn->hold('never', '');
}
my $primary = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return fallback($words) if $command !~ /^(?:evalsha|eval|hincrby)$/;
    my ($key, $cost) = $command eq 'hincrby' ? @arguments[0, 2] : @arguments[2, 3];
    my ($case, $kind) = $key =~ /:(\d+)\.(\w+)$/;
    $conn->{server}->note('sent', $key, $cost) if $command ne 'eval';
    return odd($cases[$case], $command =~ s/^eval$/evalsha/r, $conn) if $kind ne 'sound' && !$conn->state('sound');
    $conn->{server}->note('taken', $key, $cost);
    return $sound{$command =~ s/^eval$/evalsha/r};
});
my $replica = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    return $words->[1] =~ /\.open$/ ? hmget(41, $reset) : hmget(undef, undef);
});
sub store ($n) {
    my $timeout = $cases[$n]{kind} eq 'silent' ? 'charge_timeout 1s;' : 'charge_timeout 9s;';
    return redis_block("s$n", [$primary, $replica], "check_timeout 9s; connect_timeout 9s; $timeout");
}
my $nginx = RateLimit::Nginx->start(
    http   => join('', map { store($_) } 0 .. $#cases) . 'rate_limit_on_error deny;',
    server => 'rate_limit_key $http_x_key; rate_limit_store s$http_x_store; rate_limit 1000r/h; location / {}',
);
# So many times, one after the other: a request counts what the one before it of the same key was charged.
sub requests ($times, $kinds, @numbers) {
    my @requests = map { my $n = $_; map { ['/x', 'X-Store' => $n, 'X-Key' => "$n.$_"] } @$kinds } @numbers;
    my (%used, %expected);
    for my $before (0 .. $times - 1) {
        my @responses = $nginx->parallel(connections => 8, requests => \@requests);
        $used{$requests[$_][-1] =~ s/^\d+\.//r . ' ' . limits($responses[$_])->{used}}++ for 0 .. $#requests;
        $expected{"$_ " . (($_ eq 'open' ? 42 : 1) + $before)} += @numbers for @$kinds;
    }
    return is_deeply \%used, \%expected, 'every request passes with its own count';
}
sub costs ($note) {
    my %costs;
    for ($primary->commands($note)) {
        my ($n, $kind) = $_->[1] =~ /:(\d+)\.(\w+)$/;
        $costs{$n}{$kind} += $_->[2];
    }
    return \%costs;
}

requests(1, ['sound'], 0 .. $#cases);
wait_until { $primary->commands('taken') == @cases } what => 'every primary to be connected';
# No answer comes before all of them have ended.
$primary->freeze;
requests(2, [qw(new open)], 0 .. $#cases);
$primary->thaw;
my @unlogged = grep { $cases[$_]{log} } 0 .. $#cases;
wait_until {
    my $log = $nginx->error_log;
    @unlogged = grep { $log !~ /primary \S+ of (?:shard "a" of )?"s$_" $cases[$_]{log}/ } @unlogged;
    !@unlogged
} what => 'a line about each';
$primary->set(sound => 1);
requests(1, ['after'], 0 .. $#cases);

my %once = (sound => 1, new => 2, open => 2, after => 1);
wait_until {
    my $taken = costs('taken');
    !grep {
        my ($kind, $got) = ($cases[$_]{kind}, $taken->{$_});
        grep { ($got->{$_} // 0) < $once{$_} } $kind =~ /^(?:paused|refused)$/ ? keys %once : 'after'
    } 0 .. $#cases
} what => 'the charges that waited or follow';
$nginx->stop;
my ($sent, $taken) = map { costs($_) } qw(sent taken);
for my $n (0 .. $#cases) {
    my ($kind, $answer) = ($cases[$n]{kind}, substr $cases[$n]{answer} // $cases[$n]{at}, 0, 40);
    my $shown = "$kind: " . ($answer =~ s/\r\n/|/gr =~ s/[^ -~]/./gr);
    is_deeply $taken->{$n}, \%once, "$shown: all that waited is charged once" if $kind =~ /^(?:paused|refused)$/;
    is_deeply $sent->{$n}, \%once, "$shown: every charge is sent once" if $kind =~ /^(?:taken|halved)$/;
    # What came behind the charge that broke the connection was sent too, but not read.
    is_deeply [grep { $sent->{$n}{$_} > $once{$_} } keys %{$sent->{$n}}], [], "$shown: none is sent twice"
        if $kind =~ /^(?:broken|cut|silent)$/;
    my ($count) = (sort { $b <=> $a } $nginx->error_log =~ /"s$n" were dropped: .*\((\d+) dropped so far\)/g)[0] // 0;
    cmp_ok $count, ($kind eq 'dropped' ? '>=' : '=='), ($kind eq 'dropped' ? 1 : 0), "$shown: $count dropped";
    my $doubt = $nginx->count_log(qr/"s$n" were sent and not answered/) > 0;
    is $doubt, $kind =~ /^(?:broken|cut|silent)$/, "$shown: in doubt or not";
}
is $nginx->count_log(qr/are lost|exited on/), 0, 'nothing is lost, no worker died';

done;
