# A lease's batches that were asked for and not answered when the connection broke are in the line of counters.

use RateLimit::Test;

my $reset = (time + 7200) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'evalsha' || @$words < 10;
    return $conn->cut(1) if $words->[3] =~ /broken/;
    return array(integer($words->[5]), integer($words->[5]), integer($reset));
});
# nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->with_limit('1000r/365d mode=lease', redis_block('main', $redis, timeouts('1h')),
    speed => 120, more => 'rate_limit_lease 10;');
my $client = $nginx->http;
for my $n (1 .. 3) {
    wait_until { $client->get('/x', 'X-Key' => "sound$n" . monotonic())->header('X-RateLimit-Used') } what => 'Redis';
    is $client->get('/x', 'X-Key' => "broken$n")->status, 200, 'a batch is in doubt';
}
$nginx->wait_log(qr/1 reservations for primary .* they are in doubt, clients may have been charged for nothing/);
# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock. On a busy machine another batch may be
# under way on the connection that breaks, as it does each time that a broken one is asked again.
my $line = qr/counters of "main" since \d{4}(?:\/\d\d){2} \d\d(?::\d\d){2}: .*; in doubt: \d+ refunds, (?:[3-9]|\d\d) reservations/;
wait_until { $client->get('/x'); $nginx->count_log($line) } what => 'the line of counters';
pass 'all three are counted';

done;
