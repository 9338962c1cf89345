# Another program has left a number of 2 MB in the hash of one client: others feel nothing, and the first charge of that client replaces it.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis, always_checks()),
    more => 'rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;');
for my $field ('used', 'reset') {
    my $key = "rl:default/3600:bad-$field";
    $redis->cmd('HSET', $key, 'used', 1, 'reset', 1000 * int(now + 1800), $field, '1' x 2_000_000);
    for my $i (1 .. 10) {
        is outcome($nginx->get('/x', 'X-Key' => "bad-$field")), '200 PASSED', "$field: the client" if $i % 3 == 1;
        is outcome($nginx->get('/x', 'X-Key' => "other$i")), '200 PASSED', "$field: another client";
    }
    wait_until { length($redis->hash($key)->{$field}) < 20 } what => "$field: a charge replaces it";
}
is $nginx->count_log(qr/rate limit: .* is down/), 0, 'the node stays up';

done;
