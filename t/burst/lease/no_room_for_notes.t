# Tokens of more buckets than the memory can note: no more is asked for than requests need, as the rest could not be given back; and what
# requests do not spend after all goes back at once. All that was fetched is accounted for.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => 'rate_limit_zone 1m; ' . redis_block('main', $redis, timeouts('9s')) . 'keepalive_requests 100000; rate_limit_key $arg_k; rate_limit_store main;
        rate_limit_mode lease; rate_limit_lease 1000; rate_limit_on_error deny;',
    server => 'location / { rate_limit 100r/s burst=2000; } location /limits/ { rate_limit off; rate_limit_console view; }',
);
my $keys = 1500;
my $http = $nginx->http;
my sub leases () { return decode_json($http->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases} }
my sub settled () {
    my $told;
    wait_until {
        $told = leases();
        $told->{tokens} == 0 && $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched}
    } what => 'all tokens to be spent, to go back, or to die';
    return $told;
}
my $tag = $http->get('/?k=1')->header('ETag');
$http->get("/?k=$_") for 2 .. $keys;
my $told = settled();
is $told->{spent}, $keys, 'each request has spent one';
cmp_ok $told->{fetched}, '>', 100 * $keys, 'many have fetched a batch';

is_deeply [grep { $http->get("/?k=exempt$_", 'If-None-Match' => $tag)->status != 304 } 1 .. $keys], [], 'requests that are exempt';
is settled()->{spent}, $keys, '... have spent none';

done;
