# A connection that is to be left after READONLY is lost while answers are still due on it: a new one is made, though no
# request needs it, for replicas answer the checks.

use RateLimit::Test;

my $primary = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) {
    return $conn->hold('first', error("READONLY You can't write against a read only replica.")) if $nth == 2;
    return $nth == 3 || $nth == 4 ? $conn->hold('never', $taken) : $taken;
}));
my $replica = RateLimit::FakeRedis->start(handler => reading(undef, undef));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$primary, $replica], timeouts('20s')),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; location / { rate_limit 1000r/h; }
        location /three { rate_limit 1000r/h name=a; rate_limit 1000r/h name=b; rate_limit 1000r/h name=c; }',
);

is $nginx->get('/x', 'X-Key' => 'before')->status, 200, 'one that is answered';
wait_until { $primary->writes == 1 } what => 'it';
is $nginx->get('/three', 'X-Key' => 'k')->status, 200, 'a batch of three charges';
wait_until { $primary->writes == 4 } what => 'all of them on the wire';
$primary->release('first');
$nginx->wait_log(qr/refuses charges: readonly/);
# The first try is due after 100 ms at most: from then on the connection is being left.
let_pass(1);
$primary->drop(1);
$nginx->wait_log(qr/2 in doubt so far/);
wait_until { $primary->writes == 5 } what => 'what was refused, on a new connection';
$nginx->wait_log(qr/takes charges again/);
is $nginx->get('/x', 'X-Key' => 4)->status, 200, 'charge 4';
wait_until { $primary->writes == 6 } what => 'the next one';
$nginx->stop;

done;
