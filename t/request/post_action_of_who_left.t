# A client leaves while the store is silent, and post_action runs for it: the answer that comes in the midst of that
# changes nothing, and the action runs once.

use RateLimit::Test;

my $redis   = RateLimit::FakeRedis->start(handler => holding_reads());
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return $conn->hold('gate', [200, [], 'late']) });
my $nginx   = RateLimit::Nginx->start(
    up     => $backend,
    http   => redis_block('main', $redis, timeouts('20s')) . '
        rate_limit_store main; rate_limit_key $http_x_key; log_format short "$status $rate_limit_status";',
    server => 'access_log %%DIR%%/short short;
        location /x { rate_limit 9r/h; post_action /after; }
        location /same { rate_limit 9r/h; post_action /same; }
        location /look { rate_limit 9r/h; }
        location /after { internal; rate_limit off; proxy_pass http://%%UP%%; }',
);

my @clients = map { $nginx->begin($_, 'X-Key' => $_) } '/x', '/x?2', '/same';
wait_until { $redis->commands('hmget') == 3 } what => 'the checks';
$_->abort for @clients;
wait_until { $backend->requests == 2 && $nginx->lines('short') == 1 } what => 'their actions';
my $other = $nginx->begin('/look', 'X-Key' => 'other');
wait_until { $redis->commands('hmget') == 4 } what => 'another check';
$redis->release('gate');
is $other->response->status, 200, 'the answers have come';
$backend->release('gate');
wait_until { $nginx->lines('short') == 4 } what => 'the log';
is scalar(my @sent = $backend->requests), 2, 'each action ran once';
is_deeply [grep { /PASSED/ } $nginx->lines('short')], ['200 PASSED'], 'and nobody was admitted who had left';
is scalar(my @charged = $redis->writes), 1, 'nor charged';
$nginx->expect_log(qr/redirection cycle/);  # post_action in its own location is one, of nginx's own

done;
