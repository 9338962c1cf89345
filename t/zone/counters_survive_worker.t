# Workers that are killed lose no counts: the next line of counters tells them, once for all workers.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => taking(sub (@) { error('WRONGTYPE wrong kind of value') }));
my $speed = 60;
# nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->with_limit('1000r/365d', redis_block('main', $redis, timeouts('1h')),
    speed => $speed, workers => 4);
my $sent = 0;

# Each on a connection of its own, so that several workers have some; and until Redis has answered its charge.
sub lose ($charges) {
    for (1 .. $charges) {
        is $nginx->get('/x', 'X-Key' => 'k')->status, 200, 'a request passes';
        $sent++;
        wait_until { $redis->commands('evalsha') >= $sent } what => 'its charge';
    }
    return;
}
sub dropped () {
    my $log = $nginx->error_log;
    my $sum = 0;
    $sum += $_ for $log =~ /rate limit: (\d+) charges for primary \S+ of "main" were dropped/g;
    return $sum;
}

# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock.
sub wait_line ($charges, $what) {
    my $line = qr/\[notice\] .* counters of "main" since \S+ \S+: .*, $charges dropped, .*: wrongtype $charges$/m;
    wait_until { $nginx->get('/x'); $nginx->error_log =~ $line } timeout => 20, what => "a line: $charges dropped";
    return pass $what;
}
sub kill_workers () {
    wait_until { $nginx->get('/x'); dropped() == $sent } what => 'all of them to be counted';
    my @workers = $nginx->workers;
    $nginx->kill_worker($_) for @workers;
    return;
}

lose(5);
kill_workers();
wait_line(5, 'the counts of killed workers are told, though nothing has happened since');
lose(3);
kill_workers();
lose(2);
wait_line(10, 'and what other workers count is added to them');

my $end = monotonic() + 4 * 60 / $speed;
wait_until { $nginx->get('/x'); monotonic() >= $end } timeout => 30, what => 'four minutes';
my $log   = $nginx->error_log;
my @lines = $log =~ /(counters of .*)/g;
my %seen;
$seen{$_}++ for @lines;
is_deeply [grep { $seen{$_} > 1 } keys %seen], [], 'no line twice, whichever worker looks';
my %since = map { /since (\S+ \S+):/ ? ($1 => 1) : () } @lines;
is keys %since, 1, 'all count since the zone was made';

done;
