# The console tells what became of all tokens that were fetched: spent, returned to the primary, lost with their windows, or still at hand.
# The sums agree over two workers and a reload.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; keepalive_requests 100000; add_header X-Outcome $rate_limit_status always;
        location /limits/ { rate_limit_console view; }
        location /long { rate_limit 10000r/h name=long; }
        location /short { rate_limit 100r/s name=short; rate_limit_lease 20; }',
);
my $leases;
my sub leases () { return $leases = decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases} }
my sub balances () {
    my $all = leases();
    return $all->{fetched} == $all->{spent} + $all->{returned} + $all->{lost} + $all->{tokens};
}
is_deeply leases(), {map { $_ => 0 } qw(tokens fetched spent returned lost)}, 'nothing at first';

my %passed;
my sub load ($uri, $count) {
    my $client = $nginx->http;
    for (1 .. $count) { $passed{$uri}++ if outcome($client->get("$uri?k=k")) eq '200 PASSED' }
    return;
}
load('/long', 300);
is $passed{'/long'}, 300, 'requests pass';
wait_until { balances() } what => 'what is at hand to be counted';
is $leases->{spent}, 300, 'each has spent one';
cmp_ok $leases->{tokens}, '>', 0, 'some are at hand';

# An operator deletes the window, now and then: with the next tokens it turns out that it is another one. That loses none where all were spent just then.
wait_until { $redis->cmd('FLUSHALL'); load('/long', 20); leases()->{lost} > 0 } what => 'tokens of a window that is gone to be lost';
wait_until { balances() } what => 'the balance';
is $leases->{spent}, $passed{'/long'}, 'each request has spent one';

load('/short', 50);
wait_until { balances() && $leases->{spent} == $passed{'/long'} + $passed{'/short'} } what => 'the balance with a window that ends';
cmp_ok $leases->{returned} + $leases->{lost}, '>', 0, 'what was left of it went back, or is lost';

my $spent = $leases->{spent};
is $nginx->get('/long?k=k', 'If-None-Match' => '*')->status, 304, 'an exempt request' for 1 .. 20;
wait_until { balances() } what => 'the balance';
is $leases->{spent}, $spent, 'a request that is exempt has spent none';

$nginx->reload(wait_old => 1);
load('/long', 50);
wait_until { balances() } what => 'the balance after a reload';
is $leases->{spent}, $spent + 50, 'counts go on';

done;
