# Two charges leave together; the first is refused for now, the second is taken: the first goes again.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) {
    return $nth == 1 ? error("OOM command not allowed when used memory > 'maxmemory'.") : $taken;
}));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis),
    server => 'location / { rate_limit_key $arg_k; rate_limit_store main;
        rate_limit 99r/h name=one; rate_limit 99r/h name=two; }',
);
sub sent ($name) { return scalar grep { $_->[3] eq "rl:$name/3600:a" } $redis->commands('evalsha') }

is $nginx->get('/x?k=a')->status, 200, 'a request under two limits';
wait_until { sent('one') == 2 } what => 'the refused charge, again';
is sent('two'), 1, 'the other was charged once';
$nginx->stop;
is $nginx->count_log(qr/lost|dropped|doubt/), 0, 'nothing is left behind';

done;
