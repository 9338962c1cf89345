# A server closes a connection that had answered just as a command is written: the node connects once more, at once,
# and the check is asked again. A reservation is not, and a second loss in a row is an outage.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hmget|hincrby|evalsha)$/;
    my $cuts = $conn->state('cuts') // 0;
    if ($cuts > 0) {
        $conn->{server}{state}{cuts} = $cuts - 1;
        $conn->cut(1);
        return;
    }
    return hmget(7, $reset) if $words->[0] eq 'hmget';
    return $words->[0] eq 'hincrby' ? integer(8) : array(integer(1), integer(8), integer($reset));
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        rate_limit_exempt_status 200; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund exempt=off; }',
);
my $client = $nginx->http;
my sub ask ($uri) { return outcome($client->get($uri, 'X-Key' => 'k')) }

is ask('/x'), '200 PASSED', 'healthy';
my sub some_time_later () { let_pass(0.15) }    # within 100 ms of each other losses are an outage
for my $round (1 .. 3) {
    some_time_later();
    my $before = $redis->connections;
    $redis->set(cuts => 1);
    is ask('/x'), '200 PASSED', "round $round: the check is asked again";
    is $redis->connections, $before + 1, 'on one more connection';
}
is $nginx->count_log(qr/is down|could not be checked/), 0, 'that is no outage';

is ask('/reserve'), '200 PASSED', 'a reservation';
my $asked = $redis->writes;
some_time_later();
$redis->set(cuts => 1);
is ask('/reserve'), '503 ERROR_DENIED', 'one that was sent';
is scalar($redis->writes), $asked + 1, 'is not sent again';
is ask('/reserve'), '200 PASSED', 'the next one is';

some_time_later();
$redis->set(cuts => 2);
is ask('/x'), '503 ERROR_DENIED', 'two losses in a row';
$nginx->wait_log(qr/primary .* is down: /);
wait_until { ask('/x') eq '200 PASSED' } what => 'its end';
$nginx->stop;

done;
