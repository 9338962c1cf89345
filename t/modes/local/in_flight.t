# Requests that run count against the limit: slow clients pass exactly as many as it says, over one worker and over
# several. Whatever ends uncharged, and what only waits for its check, takes nothing.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $silent  = RateLimit::FakeRedis->start(handler => holding_reads());
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $conn->later(0.03, [200, [], 'late']) if $request->{uri} eq '/late';
    return $conn->hold('gate', [200, [], 'held']) if $request->{uri} eq '/held';
    return [304, ['ETag' => '"a"']] if $request->{uri} eq '/same';
    return [200, [], 'now'];
});

sub nginx ($workers) {
    return RateLimit::Nginx->start(
        workers => $workers, up => $backend,
        http    => redis_block('main', $redis) . redis_block('silent', $silent, timeouts('20s')) . '
            rate_limit_key $http_x_key; rate_limit_store main; add_header X-Worker $pid always;
            server { listen 127.0.0.1:%%PORT%% reuseport;
                location / { rate_limit 50r/h; proxy_pass http://%%UP%%; }
                location = /two { rate_limit 50r/h; rate_limit 1r/h name=small key=$http_x_small;
                    proxy_pass http://%%UP%%; }
                location = /waits { rate_limit 50r/h; rate_limit 90r/h name=waits store=silent; proxy_pass http://%%UP%%; }
            }',
    );
}

my $nginx;
for my $workers (1, 4) {
    $nginx = nginx($workers);
    my @responses =
        $nginx->parallel(connections => 24, requests => 300, uri => '/late', headers => ['X-Key' => "slow$workers"]);
    is_deeply statuses(@responses), {200 => 50, 429 => 250}, "$workers workers: exactly the limit passes";
    cmp_ok scalar workers_of(@responses), '>', $workers / 2, 'most of the workers served';
    my @used = sort { $a <=> $b } map { limits($_)->{used} } grep { $_->status == 200 } @responses;
    cmp_ok $used[-1], '<=', 50, 'none says that more was used';
    wait_until { $redis->used("slow$workers") == 50 } what => 'every charge';
    $nginx->stop if $workers == 1;
}

my @clients = map { $nginx->reach($backend, '/held', 'X-Key' => 'a') } 1 .. 12;
is limits($nginx->get('/x', 'X-Key' => 'a'))->{used}, 13, 'used counts those in flight';
$_->abort for @clients;
wait_until { $redis->used('a') == 13 } what => 'the charges of clients that left';
is $nginx->get('/same', 'X-Key' => 'a')->status, 304, 'not modified' for 1 .. 3;
for my $n (1 .. 8) {
    $redis->cmd('HSET', "rl:small/3600:s$n", used => 1, reset => (time + 3600) . '000');
    is $nginx->get('/two', 'X-Key' => 'a', 'X-Small' => "s$n")->status, 429, 'rejected by another limit';
}
is limits($nginx->get('/same', 'X-Key' => 'a'))->{used}, $redis->used('a'), 'what is used is what is stored';
is limits($nginx->get('/x', 'X-Key' => 'a'))->{used}, 14, 'and goes on from there';

@clients = map { $nginx->begin('/waits', 'X-Key' => 'b') } 1 .. 50;
wait_until { $silent->commands('hmget') == 50 } what => 'requests that wait for one of their checks';
is limits($nginx->get('/x', 'X-Key' => 'b'))->{used}, 1, 'they are not in flight';
$_->abort for splice @clients, 0, 25;
is limits($nginx->get('/x', 'X-Key' => 'b'))->{used}, 2, 'nor are those of them that leave';
wait_until { $redis->used('b') == 2 } what => 'the charges';
$silent->release('gate');
is_deeply statuses(map { $_->response } @clients), {200 => 25}, 'those that stay pass when it is answered';
wait_until { $redis->used('b') == 27 } what => 'their charges';

done;
