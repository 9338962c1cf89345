# The wall clock is set back after all of a bucket's tokens are spent: what noted them would last until the clock comes there again, and take the room of
# others. It goes at the next look.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;',
    server => 'location / { rate_limit 1000r/s burst=20000; rate_limit_lease 5000; rate_limit_cost $arg_c; } location /limits/ { rate_limit off; rate_limit_console view; }',
);
my sub noted () { return decode_json($nginx->get('/limits/json')->body)->{zone}{waiting}{used} }
my @keys = 1 .. 200;
is_deeply [grep { $nginx->get("/x?k=$_&c=2500")->status != 200 } @keys, @keys], [], 'the tokens of 200 keys are spent';
cmp_ok noted(), '>=', 0.9 * @keys, 'and still noted';
$nginx->travel('-3600');
wait_until { !noted() } what => 'the notes to go';
my $told = decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases};
is $told->{spent}, 5000 * @keys, 'all tokens are spent';
is $told->{lost} + $told->{returned}, 0, 'none went back';
done;
