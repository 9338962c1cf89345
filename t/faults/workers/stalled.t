# A worker that was stopped for a while judges no deadline before it has read the answers that lie in its sockets, and
# gives what it had not even written time to be answered: its own stall is not Redis's.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hmget|hincrby|evalsha)$/;
    my $answer = $words->[0] eq 'hmget' ? hmget(7, $reset)
        : $words->[0] eq 'hincrby' ? integer(8) : array(integer(1), integer(8), integer($reset));
    return $conn->state('held') ? $conn->hold('gate', $answer) : $answer;
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, 'check_timeout 2s; connect_timeout 2s;'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny; rate_limit_exempt_status 200;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund exempt=off; }',
);
my sub ask ($uri) { return $nginx->begin($uri, 'X-Key' => 'k') }
my ($worker) = $nginx->workers;
is $nginx->get('/x', 'X-Key' => 'k')->header('X-Outcome'), 'PASSED', 'healthy';

for my $uri ('/x', '/reserve') {
    $redis->forget;
    $redis->set(held => 1);
    my @clients = map { $nginx->begin($uri, 'X-Key' => 'k') } 1 .. 5;
    wait_until { ($uri eq '/x' ? $redis->commands('hmget') : $redis->writes) == 5 } what => 'what they ask';
    kill STOP => $worker;
    $redis->set(held => 0);
    $redis->release('gate');
    # While nothing but the clock goes on: the answers are there long before the deadline.
    let_pass(2.5);
    kill CONT => $worker;
    is_deeply [map { $_->response->header('X-Outcome') } @clients], [('PASSED') x 5], "$uri: the answers count";
}
is $nginx->count_log(qr/does not serve|is down|could not be checked/), 0, 'Redis is not blamed';
$nginx->stop;

done;
