# A bucket in `lease` of which nobody has told this machine yet, as Redis cannot be reached: headers do not tell of it.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_mode lease;
        add_header X-Outcome "$rate_limit_status $rate_limit_source" always;',
    server => 'location / { rate_limit 100r/s burst=2000; }');
my sub ask ($key) { return $nginx->head('/x', 'X-Key' => $key) }

is ask('known')->header('X-RateLimit-Used'), 101, 'what is held back, and one';
$redis->kill;
my $response = ask('unknown');
is $response->header('X-RateLimit-Used'), undef, 'none of a bucket that nobody knows';
like $response->header('X-Outcome'), qr/^ERROR/, '... which is told as an error';

done;
