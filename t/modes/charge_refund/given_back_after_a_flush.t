# Redis loses a window while exempt requests run: what these give back belongs to the lost window, not to the one that was
# opened since. So the new one admits no more than the limit.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [304, [], '']) });
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', $redis),
    server => 'rate_limit_store main; rate_limit_key $http_x_key; rate_limit_mode charge_refund; rate_limit_cost $arg_cost;
        location / { rate_limit 100r/h; } location /held { rate_limit 100r/h; proxy_pass http://' . $backend->address . '; }',
);
my %lose = (FLUSHALL => ['FLUSHALL'], DEL => ['DEL', 'rl:default/3600:DEL']);

for my $key (sort keys %lose) {
    is $nginx->get('/x', 'X-Key' => $key)->status, 200, "$key: a charge that stays";
    my @held = map { $nginx->reach($backend, '/held?cost=30', 'X-Key' => $key) } 1, 2;
    $redis->cmd(@{$lose{$key}});
    is $nginx->get('/x', 'X-Key' => $key)->status, 200, 'admitted after that' for 1 .. 60;
    is $redis->used($key), 60, 'as stored';
    $backend->release('gate');
    is $_->response->status, 304, 'exempt' for @held;
    my $after = grep { $nginx->get('/x', 'X-Key' => $key)->status == 200 } 1 .. 60;
    is 60 + $after, 100, 'the limit holds';
    wait_until { $redis->used($key) == 100 } what => 'what did not fit to go back';
}

done;
