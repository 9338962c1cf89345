# What waits, is dropped, is in doubt, and errors by node and kind: one line a minute while they change, none while not.

use RateLimit::Test;

my $speed = 120;
my $reset = (time + 7200) . '000';
sub node ($role) {
    return RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        my ($command) = @$words;
        return fallback($words) if $command !~ /^(?:hmget|hincrby|evalsha)$/;
        my ($answer) = $words->[$command eq 'evalsha' ? 3 : 1] =~ /(\w+)$/;
        if ($command eq 'hmget') {
            return error('LOADING Redis is loading') if $role eq 'replica' && $answer eq 'loading';
            return simple('OK') if $answer eq 'odd';
            return hmget(undef, undef);
        }
        return error('OOM command not allowed') if $answer eq 'oom' && !$conn->state('room');
        return error('WRONGTYPE wrong kind of value') if $answer eq 'type';
        return $conn->cut(1) if $answer eq 'reset';
        return array(integer(1), integer($reset));
    });
}
my ($primary, $replica) = map { node($_) } qw(primary replica);
# nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->with_limit('1000r/365d', redis_block('main', [$primary, $replica], timeouts('1h')),
    speed => $speed);
my $client = $nginx->http;
my $line   = qr/counters of "main" since \d{4}(?:\/\d\d){2} \d\d(?::\d\d){2}: (.*)/;
sub lines () { return $nginx->error_log =~ /$line/g }
sub request ($key) { return is $client->get('/x', 'X-Key' => $key)->status, 200, "$key passes" }

# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock.
sub wait_line ($pattern) {
    wait_until { $client->get('/x'); my @lines = lines(); @lines && $lines[-1] =~ $pattern } what => "the line $pattern";
    return pass "a line: $pattern";
}
sub minutes_pass ($minutes) {
    my $end = monotonic() + $minutes * 60 / $speed;
    return wait_until { $client->get('/x'); monotonic() >= $end } timeout => 30, what => "$minutes minutes";
}
sub no_line ($minutes) {
    my $before = () = lines();
    minutes_pass($minutes);
    return is scalar(() = lines()), $before, 'nothing changed: no line';
}
my ($first, $second) = map { quotemeta $_->address } $primary, $replica;

request('sound');
no_line(2);
request($_) for qw(1-odd 2-odd 1-type 2-type 3-type loading);
my $errors = "primary $first: wrongtype 3; replica $second: malformed 2, loading 1";
wait_line(qr/^charges of 0 windows waiting, 3 dropped, 0 in doubt; $errors$/);
no_line(2);
request('reset');
wait_line(qr/, 3 dropped, 1 in doubt; primary $first: connection 1, wrongtype 3; replica $second/);
no_line(2);
request('oom');
wait_line(qr/^charges of 1 windows waiting, .* primary $first: connection 1, oom \d+, wrongtype 3; replica/);
my $tries = (lines())[-1];
wait_until { $client->get('/x'); (lines())[-1] ne $tries } what => 'the next one, with more tries';
$primary->set(room => 1);
wait_line(qr/^charges of 0 windows waiting, 3 dropped, 1 in doubt/);
minutes_pass(1.5);    # that line may have come while the charge was on its way, once more in vain
no_line(2);

my @seconds = map { /(\d+):(\d+):(\d+)/ ? 3600 * $1 + 60 * $2 + $3 : () }
    $nginx->error_log =~ /^\S+ (\S+) .*counters of/mg;
my @apart = map { ($seconds[$_] - $seconds[$_ - 1]) % 86_400 } 1 .. $#seconds;
is_deeply [grep { $_ < 59 } @apart], [], "a minute apart: @apart";
my $before = () = lines();
$nginx->stop;
is scalar(() = lines()), $before, 'nor does a leaving worker wait for one';

done;
