# A request that was let in without its reservation, and has ended before the late answer, is charged what it cost all the
# same: where the answer is a refusal, where the cost turned out to be another, where the server does not know the script.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { [200, ['X-Cost' => 1], 'ok'] });
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $proxy, 'check_timeout 150ms; charge_timeout 20s; connect_timeout 5s;') . '
        map $upstream_http_x_cost $guess { "" 4; default $upstream_http_x_cost; }',
    server => 'rate_limit_store main; rate_limit_mode charge_refund; rate_limit_key $http_x_key;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 10r/h cost=5; }
        location /up { rate_limit 10r/h cost=$guess; proxy_pass http://' . $backend->address . '; }',
);

my $others = 0;
sub wait_up () {
    return wait_until { $nginx->get('/x', 'X-Key' => 'other' . ++$others)->header('X-Outcome') eq 'PASSED' }
        what => 'the primary to be asked again';
}

$redis->cmd('HSET', 'rl:default/3600:full', used => 7, reset => (time + 1800) . '000');
wait_up();
for (
    ['full',   '/x',  'answers',   12, 'a late refusal'],
    ['cost',   '/up', 'answers',   1,  'another cost'],
    ['script', '/x',  'questions', 5,  'an unknown script'],
) {
    my ($key, $uri, $stalled, $cost, $what) = @$_;
    $proxy->stall($stalled);
    is $nginx->get($uri, 'X-Key' => $key)->header('X-Outcome'), 'ERROR_ALLOWED', "$what: nobody answers";
    $redis->cmd('SCRIPT', 'FLUSH') if $key eq 'script';
    $proxy->flow;
    wait_up();
    wait_until { $redis->used($key) == $cost } what => "$what: what it cost";
}
$nginx->stop;
is_deeply [map { $redis->used($_) } qw(full cost script)], [12, 1, 5], 'and no more';
is $nginx->count_log(qr/dropped|in doubt|are lost/), 0, 'nothing is lost';

done;
