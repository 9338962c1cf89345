# A client that shuts down its side of the connection after the request has left, as far as nginx is concerned, while the
# request waits for Redis: 499, not charged. Where nobody waits it gets its answer.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => holding_reads());
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, 'check_timeout 20s; connect_timeout 5s;') . '
        rate_limit_key $http_x_key; log_format end "$status $http_x_key $rate_limit_status";',
    server => 'access_log %%DIR%%/ends end; location / { rate_limit 9r/h store=main; } location /local { rate_limit 9r/h; }',
);

sub half_closed ($uri, $key) {
    my $http = $nginx->begin($uri, 'X-Key' => $key);
    shutdown $http->socket, 1;
    return $http;
}
my $http = half_closed('/x', 'waits');
ok $nginx->wait_line('ends', '499 waits -'), 'while it waits for Redis: 499';
$http->at_end(5);
pass 'and no answer';
my $later = $nginx->begin('/x', 'X-Key' => 'later');
wait_until { grep { $_->[1] =~ /later/ } $redis->commands('hmget') } what => 'the check';
shutdown $later->socket, 1;
ok $nginx->wait_line('ends', '499 later -'), 'also when it does so later';
is half_closed('/local', 'local')->response->status, 200, 'where nobody waits it gets its answer';
$nginx->wait_line('ends', '200 local PASSED');
$redis->release('gate');
$nginx->stop;
is_deeply [$redis->writes], [], 'nothing is charged for who has left';

done;
