# charge_refund in Redis: what is given back in full leaves no window behind, after an exempt response and where another
# limit refused. The next request opens a new one; a window that others are in stays, with its end.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, [], 'late']) });
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_mode charge_refund; rate_limit_key $http_x_key;',
    server => 'location / { rate_limit 9r/h; }
        location /two { rate_limit 9r/h name=first; rate_limit 2r/h name=second; }
        location /held { rate_limit 9r/h; proxy_pass http://' . $backend->address . '; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }
sub exempt ($key)           { return ask('/x', $key, 'If-None-Match' => '*') }
sub exists_ ($key, $name = 'default') { return $redis->cmd('EXISTS', "rl:$name/3600:$key") }
sub reset_of ($response)    { return limits($response)->{reset} }

my $first = exempt('k');
is_deeply [$first->status, @{limits($first)}{qw(used remaining)}], [304, 0, 9], 'an exempt response';
wait_until { !exists_('k') } what => 'the window to go';
is exists_('k'), 0, 'opens no window';
wait_until { reset_of(exempt('k')) > reset_of($first) } what => 'a later end';
pass 'the next one proposes a window of its own';
wait_until { !exists_('k') } what => 'that to go, too';
my $paid = ask('/x', 'k');
is_deeply [$paid->status, limits($paid)->{used}], [200, 1], 'one that is paid opens one';
cmp_ok reset_of($paid), '>', reset_of($first), 'then';
is reset_of($paid), int(($redis->stored('k')->{reset} + 999) / 1000), 'whose end it shows';
my @then = map { exempt('k') } 1 .. 20;
is_deeply [grep { reset_of($_) != reset_of($paid) } @then], [], 'as do exempt ones, which come and go in it';
wait_until { $redis->used('k') == 1 } what => 'what they give back';

my $http = $nginx->reach($backend, '/held', 'X-Key' => 'held');
@then = map { exempt('held') } 1 .. 20;
$backend->release('gate');
my $held = $http->response;
is_deeply [grep { reset_of($_) != reset_of($held) } @then, ask('/x', 'held')], [],
    'a window that a request is in keeps its end, whatever comes and goes';

# The second is known to Redis alone, so the first is reserved.
$redis->cmd('HSET', 'rl:second/3600:two', used => 2, reset => (time + 1800) . '000');
my $deleted = $redis->calls('del');
is ask('/two', 'two')->status, 429, 'the second limit refuses';
wait_until { $redis->calls('del') > $deleted } what => 'what the first had reserved';
is exists_('two', 'first'), 0, 'a refused request opens none';

$nginx->stop;
is_deeply [map { $redis->used($_) } qw(k held)], [1, 2], 'nothing is given back twice';
is $nginx->count_log(qr/rate limit: |could not/), 0, 'nothing went wrong';

done;
