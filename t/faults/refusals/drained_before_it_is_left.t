# A primary answers READONLY while more was sent to it: the connection is not left before all of that is answered, and
# nothing of it is in doubt.

use RateLimit::Test;

my $primary = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) {
    return $conn->hold('first', error("READONLY You can't write against a read only replica.")) if $nth == 1;
    return $nth <= 3 ? $conn->hold('rest', $taken) : $taken;
}));
my $replica = RateLimit::FakeRedis->start(handler => reading(undef, undef));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$primary, $replica], timeouts('20s')),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; location / { rate_limit 1000r/h; }
        location /three { rate_limit 1000r/h name=a; rate_limit 1000r/h name=b; rate_limit 1000r/h name=c; }',
);

is $nginx->get('/three', 'X-Key' => 'k')->status, 200, 'a batch of three charges';
wait_until { $primary->writes == 3 } what => 'all of them on the wire';
$primary->release('first');
$nginx->wait_log(qr/refuses charges: readonly/);
is $nginx->get('/x', 'X-Key' => 4)->status, 200, 'a request meanwhile';
# The first try comes after 100 ms at most: the replica's own clock shows that it has passed.
let_pass(1);
is $primary->connections, 1, 'the connection stays while answers are due';
is scalar($primary->writes), 3, 'and nothing more is written on it';
$primary->release('rest');
wait_until { $primary->writes == 5 } what => 'what was refused, and what waited';
is $primary->connections, 2, 'on a new connection';
$nginx->wait_log(qr/takes charges again/);
$nginx->stop;
is $nginx->count_log(qr/doubt|dropped|does not serve|is down/), 0, 'nothing is in doubt';

done;
