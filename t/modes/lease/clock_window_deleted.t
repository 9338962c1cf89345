# A window that an operator deletes and that begins again with the same end, as one of the clock does: tokens that Redis
# does not count any more are not spent.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('100r/366d window=clock mode=lease cost=$arg_cost', redis_block('main', $redis),
    more => 'rate_limit_lease 50;');
my @key = ('X-Key' => 'k');
my $in  = 'rl:default/31622400c:k';

is $nginx->get('/x', @key)->status, 200, 'one is spent';
is $redis->hash($in)->{used}, 50, 'of fifty';
$redis->cmd('DEL', $in);
is limits($nginx->get('/x?cost=50', @key))->{used}, 50, 'more than are at hand: Redis is asked, and begins again';
is_deeply statuses(map { $nginx->get('/x', @key) } 1 .. 60), {200 => 50, 429 => 10}, 'a hundred pass from there';
is $redis->hash($in)->{used}, 100, 'and are charged';

done;
