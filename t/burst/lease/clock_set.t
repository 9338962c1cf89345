# The wall clock is set while tokens are at hand: forward, beyond the end of what notes them, or back. Tokens die by the clock that nobody sets:
# they stay noted until then, and go back or are counted as lost; and they go back when nginx stops.

use RateLimit::Test;
use JSON::PP;

my sub start ($redis) {
    return RateLimit::Nginx->start(
        clock  => 1,
        http   => redis_block('main', $redis) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;',
        server => 'location / { rate_limit 1000r/s burst=20000; rate_limit_lease 5000; } location /limits/ { rate_limit off; rate_limit_console view; }',
    );
}
my @keys = 1 .. 10;
for my $step ('+5', '-3600') {
    my $redis = RateLimit::Redis->start;
    my $nginx = start($redis);
    my sub leases () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases} }
    my $http = $nginx->http;
    is_deeply [grep { $http->get("/x?k=$_")->status != 200 } @keys], [], "$step s: a batch for each key";
    is leases()->{fetched}, 5000 * @keys, 'all batches are fetched';
    $nginx->travel($step);
    my $told;
    wait_until {
        $told = leases();
        $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched}
    } what => 'all tokens to be accounted for';
    is $told->{spent}, @keys, 'nothing but the requests has spent any';
    cmp_ok $told->{returned}, '>', 0, 'some were worth to go back';

    $http->get("/x?k=stop$_") for @keys;
    $nginx->travel($step eq '+5' ? '+20' : '-7200');
    $http->get('/x?k=other');    # nginx has seen the clock
    $nginx->stop;
    my @missing = map { (($redis->bucket("rl:default/1b:stop$_"))[0] // 0) / 1e6 } @keys;
    is_deeply [grep { $_ > 2500 } @missing], [], 'all goes back when nginx stops';
}

done;
