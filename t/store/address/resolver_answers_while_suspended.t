# A server does not serve for a while, and its name leads to another one meanwhile. When it serves again, the charges that wait do not go
# to it, but to the server that the name leads to.

use RateLimit::Test;

my $name  = '127.1';
my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my $old   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return error('LOADING Redis is loading the dataset in memory') if $conn->state('loading') && $words->[0] =~ /^(?:evalsha|ping)$/;
    return taking(sub ($nth, $conn, $taken) { $taken })->($words, $conn);
});
my $new   = RateLimit::Redis->start(host => '127.0.0.2', port => $old->port);
my $nginx = RateLimit::Nginx->start(
    http   => 'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $old->port, timeouts('9s')),
    server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/h; } location /plain { rate_limit off; }',
);
is $nginx->get('/?k=before')->status, 200, 'at first';
wait_until { $old->writes == 1 } what => 'its charge';

$dns->set($name => '127.0.0.2');
$dns->freeze;
$old->drop;
is $nginx->get('/?k=there')->status, 200, 'a new connection to the old server';
wait_until { $old->writes == 2 } what => 'its charge';
$old->set(loading => 1);
is $nginx->get('/?k=waits')->status, 200, 'one whose charge is refused';
$nginx->wait_log(qr/does not serve: loading/);
$dns->thaw;
wait_until { () = $dns->records } what => 'a question';
$dns->forget;    # when it has done so, it has answered
is $nginx->get('/plain')->status, 200, 'nginx has read the answer';

$old->forget->set(loading => 0);
wait_until { $new->used('waits') == 1 } what => 'its charge at the new server';
is scalar($old->writes), 0, 'and none at the old one';
$nginx->stop;
is $nginx->count_log(qr/doubt|dropped/), 0, 'nothing is lost';

done;
