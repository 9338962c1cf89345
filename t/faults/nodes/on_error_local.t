# rate_limit_on_error local: while Redis is away the memory of this machine goes on counting, from what it knows or from
# nothing, and nothing is lost or counted twice when Redis is back. allow and deny stay what they are.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start(appendonly => 1);
my $nginx  = RateLimit::Nginx->start(
    workers => 4, reuseport => 1,
    http    => redis_block('main', $redis, always_checks()) . redis_block('absent', '127.0.0.1:%%PORT_1%%', '') . '
        rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error local;
        add_header X-Worker $pid always; add_header X-Outcome $rate_limit_status always;',
    server => 'location / { rate_limit 10r/h; }
        location /absent { rate_limit 5r/h name=never store=absent; }
        location /dry { rate_limit 5r/h name=never store=absent dry_run=on; }
        location /both { rate_limit 9r/h name=both store=absent; rate_limit 2r/h name=here store=local; }
        location /allow { rate_limit 10r/h; rate_limit_on_error allow; }
        location /deny { rate_limit 10r/h; rate_limit_on_error deny; }',
);
my @clients = map { $nginx->http } 1 .. 12;
my $turn    = 0;
sub get ($uri, $key) { return $clients[++$turn % @clients]->get($uri, 'X-Key' => $key) }

# A worker that has not heard yet that Redis is gone sends charges, which are in doubt then.
my $away = 0;
sub kill_for_all () {
    $redis->kill;
    my %knows;
    wait_until {
        my $answer = $nginx->http->get('/x', 'X-Key' => 'away' . ++$away);
        $knows{$answer->header('X-Worker')} = 1 if outcome($answer) eq '200 ERROR_LOCAL';
        keys %knows == 4
    } what => 'all workers to know';
    return;
}

my @never = $nginx->parallel(connections => 12, requests => 60, uri => '/absent', headers => ['X-Key' => 'a']);
is_deeply outcomes(@never), {'200 ERROR_LOCAL' => 5, '429 REJECTED' => 55}, 'Redis was never up: the limit holds';
cmp_ok scalar workers_of(@never), '>', 1, 'for several workers together';
my @passed = map { limits($_) } grep { $_->status == 200 } @never;
is_deeply [sort map { $_->{used} } @passed], [1 .. 5], 'used counts each';
is_deeply [grep { $_->{remaining} != 5 - $_->{used} } @passed], [], 'remaining agrees';
my %resets = map { limits($_)->{reset} => 1 } @never;
is scalar keys %resets, 1, 'one reset';
ok((grep { abs((keys %resets)[0] - $_->date - 3600) <= 1 } @never), 'a period ahead of one that was there first');
my $over     = get('/absent', 'a');
my $rejected = limits($over);
is_deeply [@$rejected{qw(limit used remaining resource)}], [5, 5, 0, 'never'], 'a rejection says what is used';
cmp_ok abs($rejected->{retry_after} - ($rejected->{reset} - $over->date)), '<=', 1, 'and when to come again';
is outcome(get('/dry', 'a')), '200 REJECTED_DRY_RUN', 'a dry run passes';
is_deeply outcomes(map { get('/both', 'a') } 1 .. 4), {'200 ERROR_LOCAL' => 2, '429 REJECTED' => 2},
    'beside another limit, too';
is limits(get('/absent', 'b'))->{used}, 1, 'another client has its own count';

is_deeply outcomes(map { get('/x', 'a') } 1 .. 3), {'200 PASSED' => 3}, 'Redis is there';
wait_until { $redis->used('a') == 3 } what => 'the charges';
my $reset = limits(get('/x', 'a'))->{reset};
wait_until { $redis->used('a') == 4 } what => 'the charge';
kill_for_all();
my @away = map { get('/x', 'a') } 1 .. 3;
is_deeply outcomes(@away), {'200 ERROR_LOCAL' => 3}, 'it goes away';
is_deeply [map { limits($_)->{used} } @away], [5, 6, 7], 'the count goes on';
is_deeply [grep { limits($_)->{reset} != $reset } @away], [], 'in the same window';
my $new = get('/x', 'new');
is outcome($new), '200 ERROR_LOCAL', 'a new client';
is limits($new)->{used}, 1, 'begins a window';

my $allowed = get('/allow', 'a');
is outcome($allowed), '200 ERROR_ALLOWED', 'allow allows';
is_deeply [@{limits($allowed)}{qw(used remaining reset)}], [8, 2, $reset], 'with what is known';
is_deeply limits(get('/allow', 'nobody')), {}, 'without where nothing is';
is outcome(get('/deny', 'a')), '503 ERROR_DENIED', 'deny denies';

$redis->restart;
wait_until { $redis->used('a') == 8 && $redis->used('new') == 1 && $redis->used('nobody') == 1 } what => 'what waited';
wait_until { get('/x', "back$turn")->header('X-Outcome') eq 'PASSED' } what => 'Redis to be asked again';
my @after = map { get('/x', 'a') } 1 .. 2;
is_deeply [map { limits($_)->{used} } @after], [9, 10], 'nothing jumps when it is back';
is_deeply [map { limits($_)->{reset} } @after], [$reset, $reset], 'nor the reset';
is get('/x', 'a')->status, 429, 'up to the limit';
wait_until { $redis->used('a') == 10 } what => 'every admitted request stored';

# Over the limit while it is away: the limit holds, and what was admitted is stored.
kill_for_all();
my @more = $nginx->parallel(connections => 12, requests => 60, uri => '/x', headers => ['X-Key' => 'new']);
is statuses(@more)->{200}, 9, 'a limit reached while it is away';
$redis->restart;
wait_until { $redis->used('new') == 10 } what => 'its charges';
$nginx->stop;
is $redis->used('new'), 10, 'each once';
is $redis->used('a'),   10, 'and no other';

done;
