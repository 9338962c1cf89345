# Tokens of more buckets than the memory can note: no more is asked for than requests need, as the rest could not be given back. All that was
# fetched is accounted for.

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
$http->get("/?k=$_") for 1 .. $keys;
my sub leases () { return decode_json($http->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases} }
my $told;
wait_until {
    $told = leases();
    $told->{tokens} == 0 && $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched}
} what => 'all tokens to be spent, to go back, or to die';
is $told->{spent}, $keys, 'each request has spent one';
cmp_ok $told->{fetched}, '>', 100 * $keys, 'many have fetched a batch';

done;
