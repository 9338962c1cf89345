# The answer to a charge is lost with its worker: soon the primary's word is taken again, even if it is lower.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my $nginx = RateLimit::Nginx->with_limit('5r/h', redis_block('main', [$proxy, $redis], 'check_timeout 1s; charge_timeout 500ms;'));
sub request () { return $nginx->get('/x', 'X-Key' => 'a') }

is request()->status, 200, "request $_" for 1, 2;
wait_until { $redis->used('a') == 2 } what => 'two charges';
$proxy->stall('answers');
is request()->status, 200, 'a third';
wait_until { $redis->used('a') == 3 } what => 'its charge, which is not answered';
$nginx->kill_worker;
$proxy->flow;
is request()->status, 200, "request $_" for 4, 5;
wait_until { $redis->used('a') == 5 } what => 'the last';
shows request(), 429, {used => 5}, 'the limit is reached, and not before';
$redis->cmd('DEL', 'rl:default/3600:a');
wait_until { request()->status == 200 } what => 'the reset by an operator';

done;
