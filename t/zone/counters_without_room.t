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
my ($own, $others);
wait_until {
    $nginx->get('/x');
    my $log = $nginx->error_log;
    ($own)    = $log =~ /.*counters of "main" since \S+ \S+: [^\n]*?, (\d+) dropped, [^\n]*; primary [^\n]*: wrongtype \d/s;
    ($others) = $log =~ /.*counters of "\*" since \S+ \S+: [^\n]*?, (\d+) dropped, [^\n]*; any node: wrongtype \d+$/ms;
    ($own // 0) + ($others // 0) == $requests;
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
