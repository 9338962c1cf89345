# charge_refund in Redis: the cost is charged on the primary before the request, if it fits; at the end an exempt
# status gives it back, and another cost settles it. What is given back goes to no other window.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $redis   = $shards->primary;
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    http => $shards->block('main') . '
        rate_limit_store main; rate_limit_mode charge_refund; rate_limit_key $http_x_key;
        map $upstream_http_x_cost $guess { "" 4; default $upstream_http_x_cost; }
        map $upstream_http_x_cost $free { "" 0; default $upstream_http_x_cost; }
        log_format end "$status $request_uri $http_x_key";',
    up => $backend, server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 10r/h cost=$http_x_cost; }
        location /up { rate_limit 10r/h cost=$guess; proxy_pass http://%%UP%%; }
        location /free { rate_limit 10r/h cost=$free; proxy_pass http://%%UP%%; }
        location /two { rate_limit 9r/h name=a cost=5; rate_limit 9r/h name=b cost=$http_x_cost; }
        location /phases { rate_limit 9r/h name=a cost=5; rate_limit 9r/h name=b phase=precontent cost=$http_x_cost; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }
sub cost ($cost, $key)      { return ask('/x', $key, 'X-Cost' => $cost) }

sub shown ($response) { return [$response->status, @{limits($response)}{qw(used remaining)}] }

sub stored ($key, $name = 'default') { return $redis->stored($key, "$name/3600")->{used} }

# undef: it is gone.
sub comes_to ($used, $key, $what, $name = 'default') {
    wait_until { (stored($key, $name) // 'gone') eq ($used // 'gone') } what => $what;
    return is stored($key, $name), $used, $what;
}

# A request that its upstream holds until it is released.
sub slow ($uri, $key) { return $nginx->reach($backend, $uri, 'X-Key' => $key) }

is_deeply shown(cost(3, 'fits')), [200, 3, 7], 'used counts the request at hand';
is stored('fits'), 3, 'it is stored before the answer';
my $much = cost(8, 'fits');
is_deeply shown($much), [429, 3, 0], 'what does not fit is rejected, and shows what is stored';
my $reset = $redis->stored('fits')->{reset};
is limits($much)->{reset}, int(($reset + 999) / 1000), 'and the reset';
ok limits($much)->{retry_after} > 3600 - patience(10), 'with Retry-After';
is_deeply shown(cost(7, 'fits')), [200, 10, 0], 'what fits is not, up to the limit';
is_deeply [map { shown(cost($_, 'fits')) } 1, 0], [[429, 10, 0], [200, 10, 0]], 'then nothing, but what is free';
is_deeply shown(cost(0, 'free')), [200, 0, 10], 'where nothing is used, too';
is_deeply shown(cost(11, 'never')), [429, 0, 10], 'more than the limit never fits';
is_deeply [map { stored($_) } qw(fits free never)], [10, undef, undef], 'neither opens a window';

ask('/x', 'exempt', 'X-Cost' => 2);
my $exempt = ask('/x', 'exempt', 'X-Cost' => 5, 'If-None-Match' => '*');
is_deeply shown($exempt), [304, 2, 8], 'an exempt response leaves itself out';
comes_to(2, 'exempt', 'and gives back');
is_deeply shown(ask('/up?status=502', 'error')), [502, 4, 6], 'an error does not';

my $http = slow('/up/slow?cost=1', 'down');
is stored('down'), 4, 'a request under way has what it may cost';
$backend->release('gate');
is $http->response->status, 200, 'it ends';
comes_to(1, 'down', 'and has what it cost');
is_deeply shown(ask('/up?cost=9', 'up')), [200, 4, 6], 'the client is told of the first cost';
comes_to(9, 'up', 'also where it cost more');
ask('/up?cost=0', 'none');
comes_to(undef, 'none', 'or nothing');
ask('/up?status=304&cost=9', 'both');
comes_to(undef, 'both', 'an exempt status gives back all');
ask('/up?cost=15', 'over');
comes_to(15, 'over', 'it may pass the limit');
is_deeply shown(ask('/up', 'over')), [429, 15, 0], 'then nothing fits';
ask('/free?cost=3', 'from-0');
comes_to(3, 'from-0', 'free at first, and not at last');

is_deeply [map { ask('/two', 'two', 'X-Cost' => $_)->status } 10, 4], [429, 200], 'the second limit rejects';
comes_to(5, 'two', 'the first is given back', 'a');
is stored('two', 'b'), 4, 'and the second not charged';
is limits(ask('/two', 'two', 'X-Cost' => 1))->{resource}, 'a', 'now the first rejects';
comes_to(4, 'two', 'the second is given back', 'b');
is_deeply [map { ask('/phases', 'phases', 'X-Cost' => $_)->status } 10, 4], [429, 200], 'a later phase rejects';
comes_to(5, 'phases', 'what the access phase charged is given back', 'a');

$nginx->abandon(slow('/up/slow?cost=1', 'gone'), 'ends', '499 /up/slow?cost=1 gone');
$http = slow('/up/slow?cost=1', 'window');
my $other = slow('/up/slow?cost=1', 'deleted');
$redis->cmd('HSET', 'rl:default/3600:window', used => 7, reset => $reset - 60_000);
$redis->cmd('DEL', 'rl:default/3600:deleted');
my $calls = $redis->script_calls;
$backend->release('gate');
is_deeply statuses(map { $_->response } $http, $other), {200 => 2}, 'another window has opened meanwhile, or none';
$nginx->wait_line('ends', "200 /up/slow?cost=1 $_") for qw(window deleted);
wait_until { $redis->script_calls == $calls + 2 } what => 'what they give back';

$redis->cmd('SCRIPT', 'FLUSH');
my $texts = $redis->calls('eval');
is_deeply shown(cost(2, 'flushed')), [200, 2, 8], 'scripts that are forgotten are sent again';
is $redis->calls('eval'), $texts + 1, 'with the first that needs them';
$redis->cmd('SCRIPT', 'FLUSH');
ask('/x', 'flushed', 'If-None-Match' => '*');
comes_to(2, 'flushed', 'for what is given back, too');

$nginx->stop;
is stored('gone'), 4, 'a client that leaves stays charged';
is_deeply $redis->stored('window'), {used => 7, reset => $reset - 60_000}, 'nothing is given back to another window';
is stored('deleted'), undef, 'nor does it open one';
is_deeply [map { my $key = $_; map { stored($key, $_) } qw(a b) } qw(two phases)], [5, 4, 5, 4], 'each once';
is $shards->replica->calls($_), 0, "no $_ on the replica" for qw(hmget eval);
is $nginx->count_log(qr/doubt|lost|dropped|could not be checked/), 0, 'nothing went wrong';

done;
