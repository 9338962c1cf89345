# A worker that leaves sends refunds again that were not answered, and leaves all the same where a primary that answers all else never answers
# these: each repetition is one more that was not answered, and must not keep the worker for as long again.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => holding_refunds($redis));
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', $relay, timeouts('3s')),
    server => 'rate_limit_store main; rate_limit_key k; rate_limit_mode charge_refund; rate_limit_cost 4;
        location / { rate_limit 100r/h; } location /up { rate_limit 100r/h; proxy_pass http://' . $backend->address . '; }',
);
my sub refunds () { return scalar grep { is_refund($_) } $relay->commands('evalsha') }

is $nginx->get('/x')->status, 200, 'one passes';
is $nginx->get('/up?status=304')->status, 304, '... one is exempt';
wait_until { refunds() } what => 'its refund';
$nginx->stop;
cmp_ok refunds(), '>', 1, 'the worker has sent it again';
is $nginx->count_log(qr/1 refunds for primary .* in doubt/), 1, '... and has left without an answer';

done;
