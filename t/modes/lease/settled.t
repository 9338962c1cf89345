# lease: what a request did not need goes back to this machine's tokens, without a call: after an exempt status, where the cost
# turned out less, where another limit rejected, where the client has left. What it needed more comes from there, or is charged.

use RateLimit::Test;

my ($redis, $other) = map { RateLimit::Redis->start } 1, 2;
my ($proxy, $slow)  = map { RateLimit::Proxy->start(to => $_->port) } $redis, $other;
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    http    => redis_block('main', $proxy, timeouts('20s')) . redis_block('slow', $slow, timeouts('20s')) . '
        rate_limit_store main; rate_limit_mode lease; rate_limit_lease 10; rate_limit_key $http_x_key;
        map $upstream_http_x_cost $guess { "" 4; default $upstream_http_x_cost; }
        map $upstream_http_x_cost $free { "" 0; default $upstream_http_x_cost; }
        add_header X-Outcome $rate_limit_status always; log_format end "$status $uri $http_x_key";',
    up => $backend, server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 20r/h; }
        location /up { rate_limit 20r/h cost=$guess; proxy_pass http://%%UP%%; }
        location /free { rate_limit 20r/h cost=$free; proxy_pass http://%%UP%%; }
        location /refund/up { rate_limit 20r/h name=refund mode=charge_refund cost=$guess; proxy_pass http://%%UP%%; }
        location /refund/free { rate_limit 20r/h name=refund mode=charge_refund cost=$free; proxy_pass http://%%UP%%; }
        location /dry { rate_limit 2r/h name=dry dry_run=on; }
        location /two-check { rate_limit 20r/h; rate_limit 1r/h name=check mode=check_charge; }
        location /two-refund { rate_limit 20r/h; rate_limit 1r/h name=refund mode=charge_refund; }
        location /two-lease { rate_limit 20r/h; rate_limit 1r/h name=lease; }
        location /two-local { rate_limit 20r/h; rate_limit 1r/h name=local store=local; }
        location /two-first { rate_limit 1r/h name=lease; rate_limit 20r/h; }
        location /two-later { rate_limit 20r/h; rate_limit 1r/h name=lease phase=precontent; }
        location /two-later-check { rate_limit 20r/h; rate_limit 1r/h name=check mode=check_charge phase=precontent; }
        location /two-slow { rate_limit 20r/h; rate_limit 20r/h name=slow store=slow; }
        location /two-slow-later { rate_limit 20r/h; rate_limit 20r/h name=slow store=slow phase=precontent; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }

sub shown ($response) { return join ' ', $response->status, @{limits($response)}{qw(used remaining)} }

sub shown_before ($key) { return limits(ask('/x', $key))->{used} - 1 }

sub stored ($key, $name = 'default') { return $redis->used($key, "$name/3600") }

# Commands that the module sends.
sub calls () { return $redis->calls(qw(evalsha eval hincrby)) }

# Exempt.
my @exempt = ('If-None-Match' => '*');
is shown(ask('/x', 'exempt', @exempt)), '304 0 20', 'an exempt response leaves itself out';
my $calls = calls();
is shown(ask('/x', 'exempt')), '200 1 19', 'and its token to the next';
is shown(ask('/x', 'exempt', @exempt)), '304 1 19', 'this one, too';
is_deeply statuses(map { ask('/x', 'exempt') } 1 .. 9), {200 => 9}, 'the batch serves as many as are charged';
is calls(), $calls, 'without another call';
is stored('exempt'), 10, 'nor is one charged or given back';

# Another cost.
is shown(ask('/up?cost=1', 'less')), '200 4 16', 'the client is told of the first cost';
$calls = calls();
is shown_before('less'), 1, 'it was less: the difference is there for the next';
is shown(ask('/up?cost=4', 'less')), '200 6 14', 'and spent';
is calls(), $calls, 'without a call';
is shown(ask('/up?cost=6', 'more')), '200 4 16', 'one';
$calls = calls();
is shown_before('more'), 6, 'that was more has taken it from the tokens at hand';
is calls(), $calls, 'without a call';
is shown(ask('/up?cost=15', 'much')), '200 4 16', 'one for which they are too few';
wait_until { stored('much') == 21 } what => 'its charge';
is stored('much'), 21, 'is charged in Redis, and they stay';
is shown(ask('/up', 'much')), '200 19 1', 'for the next';
is shown(ask('/up', 'much')), '429 19 0', 'as far as the limit goes';
is shown(ask('/up?status=304&cost=9', 'both')), '304 0 20', 'an exempt status';
is shown_before('both'), 0, 'gives back all';
is shown(ask('/free?cost=3', 'free')), '200 0 20', 'free at first, and not at last';
wait_until { (stored('free') // 0) == 3 } what => 'the charge';
is shown(ask('/x', 'free')), '200 4 16', 'it is charged';
$calls = calls();
is shown(ask('/free?cost=3', 'free')), '200 4 16', 'now there are tokens';
is shown_before('free'), 7, 'to charge it from';
is calls(), $calls, 'without a call';

# A request that costs nothing is rejected as well, once more than the limit is used.
for my $in ('', '/refund') {
    is ask("$in/up?cost=25", 'over')->status, 200, 'one that turned out to cost more than the limit';
    wait_until { stored('over', $in ? 'refund' : 'default') >= 25 } what => 'its charge';
    is ask("$in/free?cost=0", 'over')->status, 429, 'then nothing passes, not even what is free';
}
$calls = calls();
my %free;
wait_until { $free{ask('/free?cost=0', 'over')->status}++; calls() > $calls } what => 'a question';
is_deeply [keys %free], [429], 'nor when the primary is asked again';

# A request of several limits is rejected by the other one, and this one charges nothing.
for my $how (qw(check refund lease local first later later-check)) {
    my $uri = "/two-$how";
    is ask($uri, $how)->status, 200, "$how: two limits";
    wait_until { (stored($how, 'check') // 0) == 1 } what => 'the charge of the other limit' if $how =~ /check/;
    is_deeply statuses(map { ask($uri, $how) } 1 .. 3), {429 => 3}, 'the other one rejects';
    is shown_before($how), 1, 'and this one charges nothing';
    is stored($how), 10, 'in Redis neither';
}
my ($key, $http) = ('cold', $nginx->http);
$redis->cmd('HSET', 'rl:lease/3600:cold', used => 1, reset => (time + 1800) . '000');
is ask('/two-lease', 'cold')->status, 429, 'both are asked for tokens, and one has none';
$calls = calls();
is shown_before('cold'), 0, 'what the other got stays';
is calls(), $calls, 'here';

# Dry run.
is_deeply [map { ask('/dry', 'dry')->header('X-Outcome') } 1 .. 4], [('PASSED') x 2, ('REJECTED_DRY_RUN') x 2],
    'a dry run spends what is there';
is shown(ask('/dry', 'dry')), '200 2 0', 'and says when nothing is left';
is stored('dry', 'dry'), 2, 'and charges no more';

# Clients that leave.
$proxy->stall('answers');
$http = $nginx->begin('/x', 'X-Key' => 'gone');
wait_until { stored('gone') } what => 'the batch';
$nginx->abandon($http, 'ends', '499 /x gone');
$proxy->flow;
is shown_before('gone'), 0, 'a client leaves while it waits: it is charged nothing';
is stored('gone'), 10, 'and its batch is there for the next';
is ask('/two-slow', 'warm')->status, 200, 'the other Redis is there';
for my $uri ('/two-slow', '/two-slow-later') {
    $key = $uri =~ s{/}{}gr;
    is shown_before($key), 0, 'a batch is there';
    $slow->stall('answers');
    $http = $nginx->begin($uri, 'X-Key' => $key);
    wait_until { $other->used($key, 'slow/3600') } what => 'the batch of the other limit';
    $nginx->abandon($http, 'ends', "499 $uri $key");
    $slow->flow;
    is shown_before($key), 1, "$uri: one that leaves while another limit waits gives back what it has";
    is stored($key), 10, 'here';
}
$slow->stall('answers');
$http = $nginx->begin('/two-slow', 'X-Key' => 'granted');
wait_until { stored('granted') && $other->used('granted', 'slow/3600') } what => 'both batches';
$nginx->abandon($http, 'ends', '499 /two-slow granted');
$slow->flow;
is shown_before('granted'), 0, 'also what it was granted';
is stored('granted'), 10, 'here';

$nginx->stop;
is stored('exempt'), 10, 'what was spent stays charged';
is stored('both'), 1, 'what was not is given back at the end';
is $nginx->count_log(qr/could not be checked|doubt|dropped/), 0, 'nothing went wrong';

done;
