# A lease's batches that were asked for and not answered when the connection broke are in the line of counters.

use RateLimit::Test;

my $reset = (time + 7200) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'evalsha' || @$words < 10;
    return $conn->cut(1) if $words->[3] =~ /broken/;
    return array(integer($words->[5]), integer($words->[5]), integer($reset));
});
# nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->start(
    clock   => 1,
    speed   => 120,
    workers => 1,
    http    => redis_block('main', $redis, 'check_timeout 1h; connect_timeout 1h; charge_timeout 1h;'),
    server => 'keepalive_timeout 100h; keepalive_time 100h; keepalive_requests 1000000; client_header_timeout 100h;
        rate_limit_mode lease; rate_limit_lease 10; rate_limit_key $http_x_key; rate_limit 1000r/365d store=main;
        location / {}',
);
my $client = $nginx->http;
for my $n (1 .. 3) {
    wait_until { $client->get('/x', 'X-Key' => "sound$n" . monotonic())->header('X-RateLimit-Used') } what => 'Redis';
    is $client->get('/x', 'X-Key' => "broken$n")->status, 200, 'a batch is in doubt';
}
$nginx->wait_log(qr/1 reservations for primary .* they are in doubt, clients may have been charged for nothing/);
# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock.
my $line = qr/counters of "main" since \d{4}(?:\/\d\d){2} \d\d(?::\d\d){2}: .*; in doubt: \d+ refunds, 3 reservations/;
wait_until { $client->get('/x'); $nginx->count_log($line) } timeout => 10, what => 'the line of counters';
pass 'all three are counted';

done;
