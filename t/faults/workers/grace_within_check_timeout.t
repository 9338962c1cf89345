# However long a worker was stopped, what was overdue when it goes on waits no longer than check_timeout for answers.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    return $words->[1] =~ /:held$/ ? $conn->hold('gate', hmget(undef, undef)) : hmget(undef, undef);
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 30ms; connect_timeout 2s;'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny; rate_limit_exempt_status 200;
        location / { rate_limit 1000r/h; }',
);
my ($worker) = $nginx->workers;

# Milliseconds from its going on to the response; undef if the deadline had passed before it was stopped.
sub waited () {
    wait_until { $nginx->get('/x', 'X-Key' => 'other')->status == 200 } what => 'the node to be up';
    $redis->forget;
    my $asked  = monotonic();
    my $client = $nginx->begin('/x', 'X-Key' => 'held');
    wait_until { $redis->commands('hmget') } what => 'what it asks';
    kill STOP => $worker;
    my $in_time = monotonic() - $asked < 0.02;
    let_pass(0.3);
    kill CONT => $worker;
    my $woken  = monotonic();
    my $status = $client->response->status;
    my $waited = (monotonic() - $woken) * 1000;
    $redis->release('gate');
    is $status, 503, 'nothing has answered';
    return $in_time ? $waited : undef;
}

# A grace of 30 ms, and then two thirds of check_timeout for other nodes. A busy machine makes some of them longer.
wait_until { (waited() // 100) < 90 } what => 'a wait of less than 90 ms';
$nginx->stop;

done;
