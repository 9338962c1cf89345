# What the primary has confirmed is known on the whole machine at once, though its replica knows nothing.

use RateLimit::Test;

my $primary = RateLimit::Redis->start;
my $replica = RateLimit::FakeRedis->start(handler => reading(undef, undef));
my $nginx = RateLimit::Nginx->with_limit('12r/h', redis_block('main', [$primary, $replica], always_checks()), workers => 4, reuseport => 1,
    more => 'add_header X-Worker $pid always;');
my @clients = map { $nginx->http } 1 .. 12;
my @seen    = map { $_->get('/x', 'X-Key' => 'a') } @clients;
is_deeply statuses(@seen), {200 => 12}, 'up to the limit all pass';
is_deeply [map { limits($_)->{used} } @seen], [1 .. 12], 'used counts every one';
cmp_ok scalar workers_of(@seen), '>', 1, 'of several workers';
is_deeply statuses(map { $_->get('/x', 'X-Key' => 'a') } @clients), {429 => 12}, 'then all are rejected';
cmp_ok scalar($replica->commands('hmget')), '>=', 12, 'the replica was asked until then';

wait_until { $primary->used('a') == 12 } what => 'the charges';
wait_until { $replica->forget; $clients[0]->get('/x', 'X-Key' => 'a'); !$replica->commands('hmget') }
    what => 'the replica not to be asked any more';
my $reset = ceil($primary->stored('a')->{reset} / 1000);
is_deeply [grep { limits($_)->{reset} != $reset } @seen[1 .. 11]], [], 'each shows the stored reset';

# Another machine charges the same window: its count comes with the next confirmation.
$primary->cmd('HSET', 'rl:default/3600:b', used => 5, reset => (time + 1000) . '000');
my @other = map { $_->get('/x', 'X-Key' => 'b') } @clients[0 .. 3];
cmp_ok limits($other[0])->{used}, '==', 1, 'before the first charge nothing is known here';
wait_until { $primary->used('b') == 9 } what => 'its charges';
wait_until { limits($clients[0]->get('/x', 'X-Key' => 'b'))->{used} >= 10 } what => 'the count of both machines';
cmp_ok(limits($clients[1]->get('/x', 'X-Key' => 'b'))->{reset}, '<', time + 1002, 'with the stored reset');

done;
