# A refund whose answer is lost just before a reload, or that has not come to Redis, is sent again by the leaving worker.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => do {
    my ($away, $relaying) = (0, relaying($redis, sub ($words, $conn, $answer) { $answer }));
    sub ($words, $conn) {
        return $relaying->($words, $conn) if $conn->state('back');
        $away ||= is_refund($words) or return $relaying->($words, $conn);
        $relaying->($words, $conn) if $words->[0] eq 'evalsha' && $words->[3] =~ /:done$/;
        return $conn->cut(1);
    }
});
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', $relay, timeouts('9s')),
    server => 'rate_limit_store main; rate_limit_key $arg_k; rate_limit_mode charge_refund; rate_limit_cost 4;
        location / { rate_limit 100r/h; } location /up { rate_limit 100r/h; proxy_pass http://' . $backend->address . '; }',
);
my sub refunds ($key) { return scalar grep { is_refund($_) && $_->[3] =~ /:$key$/ } $relay->commands('evalsha') }

for my $key (qw(done lost)) {
    $relay->set(back => 1);
    wait_until { $nginx->get("/x?k=$key")->header('X-RateLimit-Used') } what => 'Redis';
    is $redis->used($key), 4, "$key: one passes";
    my $exempt = $nginx->reach($backend, "/up?k=$key&slow&status=304");
    $relay->set(back => '');
    $backend->release('gate');
    is $exempt->response->status, 304, '... one is exempt';
    wait_until { refunds($key) } what => 'its refund';
    $nginx->reload;
    $relay->set(back => 1);
    wait_until { refunds($key) > 1 } what => 'the leaving worker to send it again';
    wait_until { $redis->used($key) == 4 } what => 'the refund to be stored';
}
$nginx->stop;
is $redis->used($_), 4, "$_: what passed is what is stored in the end" for qw(done lost);
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;
