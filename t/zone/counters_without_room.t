# More shards than the least zone has counters for: the others are counted together, and nothing is lost.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => taking(sub (@) { error('WRONGTYPE wrong kind of value') }));
sub block (@shards) {
    return 'rate_limit_zone 128k; rate_limit_redis main { ' . timeouts('1h')
        . join(' ', map { "shard s$_ primary=" . $redis->address . ';' } @shards) . ' }';
}
# All shards on one server, whose answers are counted for each. nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->with_limit('1000r/365d', block(1 .. 30), speed => 60);
my $requests = 200;
is_deeply statuses(map { $nginx->get('/x', 'X-Key' => "k$_") } 1 .. $requests), {200 => $requests}, 'requests pass';

# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock.
# Of a shard and of its node either may have found room, and the other not.
my ($own, $others);
sub sum ($text, $pattern) {
    my $sum = 0;
    $sum += $_ for $text =~ /$pattern/g;
    return $sum;
}
wait_until {
    $nginx->get('/x');
    my $log = $nginx->error_log;
    my ($main, $rest) = map { $log =~ /.*counters of "\Q$_\E" since \S+ \S+: ([^\n]*)/s ? $1 : '' } 'main', '*';
    ($own, $others) = map { sum($_, qr/(\d+) dropped/) } $main, $rest;
    $own + $others == $requests && sum($main, qr/; primary [^;]*: wrongtype (\d+)/) > 0
        && $rest =~ /; any node: wrongtype \d/ && sum("$main $rest", qr/wrongtype (\d+)/) == $requests;
} timeout => 20, what => 'lines with all that were dropped';
cmp_ok $own,    '>', 0, 'some shards have counters';
cmp_ok $others, '>', 0, 'others are told together';

$nginx->reload(http => block(31, 1 .. 30));
my $more = $own;
is_deeply statuses(map { $nginx->get('/x', 'X-Key' => "l$_") } 1 .. $requests), {200 => $requests}, 'requests pass';
ok wait_until {
    $nginx->get('/x');
    ($more) = $nginx->error_log =~ /.*counters of "main" since \S+ \S+: [^\n]*?, (\d+) dropped/s;
    $more > $own;
} timeout => 20, what => 'a store whose first shard has no counters is still told';

done;
