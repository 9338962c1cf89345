# Answers that arrive together, in pieces, or of more bytes than one read of a socket takes go to their own commands, in order; what is no
# answer goes to none. One that has no end ends its connection long before a worker has it all in memory.

use RateLimit::Test;

use constant LIMITS => 12;

my $reset = (time + 1800) . '000';
my $push  = ">2\r\n" . bulk('invalidate') . bulk('x');
my $stray = hmget(99, $reset);
my %endless = (text => ["*2\r\n\$2000000000\r\n", '1', 'text above 1 MB'], line => ['+', "\r", 'line above 64 KB']);
my @answers;

# Answers nothing before it has been asked about all limits.
sub answer_all ($limit, $kind, $conn) {
    if ($kind eq 'lose') {
        @answers = ();
        return $conn->close(1);
    }
    push @answers, $kind eq 'odd' && $limit == 7 ? error('ERR not this one') : hmget($limit, $reset);
    return '' if @answers < LIMITS;
    return join '', (map { $kind eq 'pushed' ? ($push, $_) : $_ } splice @answers), $kind eq 'more' ? $stray : ();
}
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my ($limit, $kind, $number) = $words->[1] =~ m{:(?:limit-(\d+)|one)/3600:([a-z]+)-?(\d*)$} or die "of no limit: $words->[1]\n";
    return answer_all($limit, $kind, $conn) if $limit;
    return bulk('x' x $number) if $kind eq 'long';
    return $conn->hold('gate', hmget($number, $reset)) if $kind eq 'many';
    return hmget(1, $reset) . substr $stray, 0, $number if $kind eq 'before';
    return substr($stray, $number) . hmget(2, $reset) if $kind eq 'victim';
    my $endless = $endless{$kind} or return hmget(2, $reset);
    $conn->send($endless->[0]);
    $conn->send($endless->[1] x 1_000_000) for 1 .. 60;
    return;
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, timeouts('60s') . ' fresh off;'),
    server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit_headers ietf; rate_limit_exempt_status 200;'
        . join('', map { "rate_limit 1000r/h name=limit-$_;\n" } 1 .. LIMITS)
        . '} location /one { rate_limit 100000r/h name=one cost=0; add_header X-Outcome $rate_limit_status always; }',
);
my $nth     = 0;
my @workers = $nginx->workers;

# Each limit, and what is used of it where it is not the number of the limit.
sub shown ($key) {
    my $list = $nginx->get("/x?k=$key")->header('RateLimit') // '';
    return join ' ', map { /"limit-(\d+)";r=(\d+)/ ? $1 == 1000 - $2 ? $1 : "$1:" . (1000 - $2) : $_ } split /, /, $list;
}
sub one ($key) {
    my $response = $nginx->get("/one?k=$key");
    return join ' ', outcome($response), limits($response)->{used} // 'unknown';
}
sub healthy () { return wait_until { one('fine-' . ++$nth) eq '200 PASSED 2' } what => 'the node to be up again' }
sub kilobytes () { return read_text("/proc/$workers[0]/status") =~ /VmHWM:\s+(\d+)/ ? $1 : 0 }

for my $kind (sort keys %endless) {
    my $before = kilobytes();
    is one($kind), '200 ERROR_ALLOWED unknown', "$endless{$kind}[2]: an answer without end is none";
    $nginx->wait_log(qr/primary .* is down: its answer has a $endless{$kind}[2]/);
    cmp_ok kilobytes() - $before, '<', 10_000, '... kilobytes that the worker took more, at most';
    healthy();
}

my $connections = $redis->connections;
is one('long-100000'), '200 ERROR_ALLOWED unknown', 'a long reply is no window';
my @clients = map { $nginx->begin('/one?k=many-' . (1000 + $_)) } 0 .. 599;
wait_until { grep({ $_->[1] =~ /:many-/ } $redis->commands('hmget')) == @clients } what => 'all checks';
$redis->release('gate');
my @wrong = grep { limits($clients[$_]->response)->{used} != 1000 + $_ } 0 .. $#clients;
is_deeply \@wrong, [], 'hundreds of replies at once: each to its own request';

my $all = join ' ', 1 .. LIMITS;
is shown('first'),  $all, 'each limit has its own answer';
is shown('pushed'), $all, 'so it has where something else comes before each';
is shown('odd'), join(' ', grep { $_ != 7 } 1 .. LIMITS), 'an error is for one of them';
is $redis->connections, $connections, 'all on one connection';

# Also after commands were lost with their connection. What is known of a key would be shown while nobody can be asked.
for my $what ('one answer too many', 'and after a loss') {
    my $pings = () = $redis->commands('ping');
    is shown('more-' . ++$nth), $all, $what;
    wait_until { shown('again-' . ++$nth) eq $all } what => 'right answers';
    cmp_ok scalar(() = $redis->commands('ping')), '>', $pings, '... is not the answer to the next command: that goes over another connection';
    is shown('lose'), '', 'commands are lost';
    wait_until { shown('again-' . ++$nth) eq $all } what => 'the next connection';
}
for my $cut (1, 3, 20, length($stray) - 1) {
    is one("before-$cut"), '200 PASSED 1', "a stray reply's first $cut bytes come with an answer";
    is one("victim-$cut"), '200 ERROR_ALLOWED unknown', 'the next command is not sent after it';
    healthy();
}
is_deeply [$nginx->workers], \@workers, 'no worker died';

done;
