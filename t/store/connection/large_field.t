# Another program has left a number of 2 MB in the hash of one client: others feel nothing, and the first charge of that client replaces it.

use RateLimit::Test;

for my $on_error ('allow', 'deny') {
    for my $field ('used', 'reset') {
        my $redis = RateLimit::Redis->start;
        my $nginx = RateLimit::Nginx->start(
            workers => 1,
            http    => redis_block('main', $redis, always_checks()) . " rate_limit_on_error $on_error;",
            server  => 'location / { alias %%DIR%%/html/; rate_limit 1000r/h store=main key=$http_x_key; add_header X-Outcome $rate_limit_status always; }');
        my $key = 'rl:default/3600:bad';
        $redis->cmd('HSET', $key, 'used', 1, 'reset', 1000 * int(now + 1800), $field, '1' x 2_000_000);
        for my $i (1 .. 10) {
            is outcome($nginx->get('/x', 'X-Key' => 'bad')), '200 PASSED', "$on_error, $field: the client" if $i % 3 == 1;
            is outcome($nginx->get('/x', 'X-Key' => "other$i")), '200 PASSED', "$on_error, $field: another client";
        }
        wait_until { length($redis->hash($key)->{$field}) < 20 } what => "$on_error, $field: a charge replaces it";
        is $nginx->count_log(qr/rate limit: .* is down/), 0, "$on_error, $field: the node stays up";
    }
}

done;
