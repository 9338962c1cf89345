# A window that is deleted while the primary's answers stand for checks gets its end back; and where another machine has opened
# it anew, with another end, that is found.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('5000r/h', redis_block('main', $redis));
my $key   = 'rl:default/3600:k';
my $http  = $nginx->http;
sub request () { return limits($http->get('/x', 'X-Key' => 'k')) }

sub is_open () {
    request();
    wait_until { $redis->cmd('EXISTS', $key) } what => 'the window';
    return wait_until { my $before = $redis->calls('hmget'); request(); $redis->calls('hmget') == $before } what => 'a request without a check';
}

is_open();
$redis->cmd('DEL', $key);
request();
wait_until { ($redis->hash($key)->{reset} // 0) > 0 } what => 'its end to come back';
ok $redis->cmd('PTTL', $key) > 3_000_000, 'it expires';

is_open();
my $reset = (time + 3650) . '000';
$redis->cmd('DEL', $key);
$redis->cmd('HSET', $key, used => 50, reset => $reset);
my $requests = 0;
wait_until { ++$requests; request()->{reset} == $reset / 1000 } what => 'the other end';
cmp_ok $requests, '<=', 300, "the new window is seen after $requests requests";
cmp_ok request()->{used}, '>', 50, 'and its count';

done;
