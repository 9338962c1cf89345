# While a primary refuses writes, answers that need none, as a reservation that does not fit gets, are no proof that it takes
# them again: charges go on waiting, with a probe now and then.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return hmget(undef, undef) if $words->[0] eq 'hmget';
    return fallback($words) if $words->[0] !~ /^(?:hincrby|evalsha)$/;
    return array(integer(0), integer(9), integer($reset)) if @$words >= 10;    # a reservation
    return error("OOM command not allowed when used memory > 'maxmemory'.") if !$conn->state('room');
    return $words->[0] eq 'hincrby' ? integer(2) : array(integer(1), integer($reset));
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis),
    server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/h; }
        location /reserve { rate_limit 9r/h name=r mode=charge_refund; }',
);
my sub charges () { return scalar grep { @$_ < 10 } $redis->writes }
my sub asked () { return scalar grep { @$_ >= 10 } $redis->writes }

is $nginx->get("/x?k=$_")->status, 200, "charge $_" for 1 .. 20;
$nginx->wait_log(qr/refuses charges: oom/);
my $before = charges();
is $nginx->get("/reserve?k=$_")->status, 429, 'a reservation that does not fit' for 1 .. 50;
is asked(), 50, 'each was asked';
# Probes come after 100, 200, 400 ms and so on: in the time of these requests hardly one.
cmp_ok charges() - $before, '<', 10, 'charges are not tried for that';
is $nginx->count_log(qr/takes charges again/), 0, 'the gate stays closed';
$redis->set(room => 1);
$nginx->wait_log(qr/takes charges again/);
$nginx->stop;
is $nginx->count_log(qr/doubt|dropped|lost/), 0, 'all are taken in the end';

done;
