# A worker that is stopped again and again gives what it asked before each stop time to be answered, not only every second
# time.

use lib 't/lib';
use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hmget|hincrby|evalsha)$/;
    my $answer = $words->[0] eq 'hmget' ? hmget(7, $reset) : array(integer(1), integer(8), integer($reset));
    return $conn->state('held') && "@$words" =~ /:held\b/ ? $conn->hold('gate', $answer) : $answer;
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 500ms; connect_timeout 2s;'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny; rate_limit_exempt_status 200;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /free { rate_limit off; }',
    files => {reserve => '', free => ''},
);
my ($worker) = $nginx->workers;
sub pause ($seconds) { my $end = monotonic() + $seconds; return wait_until { monotonic() >= $end } what => 'the time to pass' }

# What the held request gets, and how often Redis was blamed. The answer comes at the end of the round, within the
# grace; undef where the machine was too slow for that.
sub round ($uri) {
    $nginx->get('/x', 'X-Key' => 'other');    # Redis is up
    my $blamed = sub { $nginx->count_log(qr/does not serve|is down|could not be checked/) };
    my $before = $blamed->();
    $redis->forget;
    $redis->set(held => 1);
    my $client = $nginx->http;
    my $asked  = monotonic();
    $client->start_request('GET', $uri, ['X-Key' => 'held']);
    wait_until { $redis->commands($uri eq '/x' ? 'hmget' : 'evalsha') } what => 'what it asks';
    kill STOP => $worker;
    my $in_time = monotonic() - $asked < 0.15;
    pause(0.7);
    kill CONT => $worker;
    my $woken = monotonic();
    is $nginx->get('/free')->status, 200, 'it runs again';
    $redis->set(held => 0);
    $redis->release('gate');
    $in_time &&= monotonic() - $woken < 0.06;
    my $outcome = $client->response->header('X-Outcome');
    return $in_time ? "$outcome, blamed " . ($blamed->() - $before) : undef;
}

for my $uri ('/x', '/reserve') {
    for my $nth (1 .. 4) {
        my $got = wait_until { round($uri) } what => 'a round in time';
        is $got, 'PASSED, blamed 0', "$uri, stall $nth";
    }
}
$nginx->stop;

done;
