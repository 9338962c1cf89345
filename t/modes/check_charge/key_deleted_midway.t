# A key deleted while requests run: the increment that makes it anew is repaired; no key stays without an end.

use RateLimit::Test;

my $backend = RateLimit::Backend->start;
my $redis   = RateLimit::Redis->start;
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $redis),
    server => 'rate_limit_key k; rate_limit_cost $http_x_cost; rate_limit 1000r/h store=main;'
        . 'location / {} location /slow { proxy_pass http://' . $backend->address . '; }',
);
my $key = 'rl:default/3600:k';
$nginx->get('/x');
let_connections_age();
for my $cost (1, 7) {
    $redis->flush;
    is $nginx->get('/x')->status, 200, 'the window opens';
    wait_until { $redis->cmd('EXISTS', $key) } what => 'the window';
    my @clients = map { $nginx->reach($backend, '/slow', 'X-Cost' => $cost) } 1 .. 3;
    $redis->cmd('DEL', $key);
    $redis->cmd('SCRIPT', 'FLUSH') if $cost == 7;
    $backend->release('gate');
    $_->response for @clients;
    wait_until { ($redis->hash($key)->{used} // 0) == 3 * $cost && $redis->hash($key)->{reset} }
        what => 'three charges and a reset';
    my ($reset, $expires, $now) = $redis->pipeline(['HGET', $key, 'reset'], ['PTTL', $key], ['TIME']);
    my $left = $reset - $now->[0] * 1000 - $now->[1] / 1000;
    ok about($left, 3_600_000, 5000), "cost $cost: a period is left";
    ok about($expires - 1000, $left, 1000), 'it expires a second later';
    $nginx->get('/x');
    wait_until { $redis->hash($key)->{used} == 3 * $cost + 1 } what => 'a charge that was alone on its way';
    wait_until { limits($nginx->get('/x', 'If-None-Match' => '*'))->{used} == 3 * $cost + 1 }
        what => 'used as Redis has it: nothing is lost';
}
cmp_ok $redis->calls('hincrby'), '>=', 4, 'by plain increments';

done;
