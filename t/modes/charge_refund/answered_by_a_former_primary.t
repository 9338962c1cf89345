# The answer of a former primary to a refund comes after the next primary, which has not heard of that, has taken another one of the same
# window. Both count there.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $replica = RateLimit::Redis->start(replica_of => $redis);
my $former  = RateLimit::FakeRedis->start(handler => holding_refunds($redis));
my $next     = RateLimit::FakeRedis->start(handler => relaying($replica, sub ($words, $conn, $answer) { $answer }));
my $sentinel = RateLimit::FakeRedis->start(handler => watching, state => {primary => '127.0.0.1 ' . $former->port . ' 1'});
my $backend  = RateLimit::Backend->start(handler => sub ($request, $conn) { return $conn->hold($request->{uri}, [304, [], '']) });
my $nginx    = RateLimit::Nginx->start(
    http   => 'rate_limit_redis main { sentinel ' . $sentinel->address . '; shard a master=m; ' . timeouts('9s') . ' }',
    server => 'rate_limit_store main; rate_limit_key $arg_k; rate_limit_mode charge_refund; rate_limit_cost $arg_cost; rate_limit_on_error deny;
        location / { rate_limit 1000r/h; } location /up { rate_limit 1000r/h; proxy_pass http://' . $backend->address . '; }',
);
my sub asks ($key) { return $nginx->get("/x?k=$key&cost=1")->status }

wait_until { asks('k') == 200 } what => 'the primary to be known';
my %held = map { $_ => $nginx->reach($backend, "/up?k=k&cost=$_") } 20, 300;
wait_until { $replica->used('k') == 321 } what => 'the replica to hear of all three';
$replica->cmd('REPLICAOF', 'NO', 'ONE');
$backend->release('/up?k=k&cost=20');
is $held{20}->response->status, 304, 'one is exempt';
wait_until { $redis->used('k') == 301 } what => 'the refund';
$sentinel->set(primary => '127.0.0.1 ' . $next->port . ' 2');
$nginx->wait_log(qr/before it was/);
my $other = 0;
wait_until { asks('other' . $other++); $next->commands('evalsha') } what => 'the next primary to be asked';
$backend->release('/up?k=k&cost=300');
is $held{300}->response->status, 304, 'the other one is exempt';
wait_until { $replica->used('k') == 21 } what => 'its refund';
$former->release('gate');
wait_until { $replica->used('k') == 1 } what => 'the first one at the next primary';
$nginx->stop;
is $replica->used('k'), 1, 'what passed is what is stored in the end';
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;
