# The wall clock is set forward, beyond the end of what notes tokens, while they are at hand. Tokens die by the clock that nobody sets: they stay
# noted until then, and all are accounted for.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis, timeouts('9s')) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;',
    server => 'location / { rate_limit 1000r/s burst=20000; rate_limit_lease 500; } location /limits/ { rate_limit off; rate_limit_console view; }',
);
my sub leases () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases} }
my $http = $nginx->http;
is $http->get("/x?k=$_")->status, 200, "a batch for key $_" for 1 .. 20;
is leases()->{fetched}, 10_000, 'all batches are fetched';
$nginx->travel('+5');
my $told;
wait_until {
    $told = leases();
    $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched}
} what => 'all tokens to be accounted for';
is $told->{spent}, 20, 'nothing but the requests has spent any';

done;
