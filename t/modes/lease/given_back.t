# Tokens that nobody spends go back to the window they came from, once, and while others can still spend them. Those of
# a key in use stay.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @nginx = map { RateLimit::Nginx->start(
    workers => 2, reuseport => 1, clock => 1,
    http    => redis_block('main', $redis) . '
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key; keepalive_requests 1000000;
        rate_limit_log_level info;',
    server => 'location /auto { rate_limit 100000r/60s name=auto; }
        location /fixed { rate_limit 60r/60s name=fixed; rate_limit_lease 20; }
        location /many { rate_limit 2000r/60s name=many; rate_limit_lease 1000; }
        location /short { rate_limit 50r/10s name=short; rate_limit_lease 20; }',
) } 1, 2;
my ($one, $other) = @nginx;
my %window = (auto => 'auto/60', fixed => 'fixed/60', many => 'many/60', short => 'short/10');

sub stored ($name, $key) { return $redis->stored($key, $window{$name}) }
sub used ($name, $key) { return stored($name, $key)->{used} // 0 }

# How requests ended, one after the other: those that ask at the same time may take a batch for each worker.
sub requests ($nginx, $name, $key, $count) { return statuses(map { $nginx->get("/$name", 'X-Key' => $key) } 1 .. $count) }

# In steady use: never long without a request.
my $steady = RateLimit::Process->start(name => 'steady', run => sub {
    my $http = $one->http;
    while ($http->get('/many', 'X-Key' => 'steady')->status == 200) { select undef, undef, undef, 0.05 }
});

$_->stand_at(time) for @nginx;    # nothing goes back yet
is_deeply requests($one, 'auto', 'k', 1), {200 => 1}, 'auto: a request passes';
is used('auto', 'k'), 1, 'with what it costs';
is_deeply requests($one, 'auto', 'k', 1), {200 => 1}, 'auto: so does the next one';
is used('auto', 'k'), 101, 'with a thousandth of the limit';
is_deeply requests($one, 'fixed', 'k', 3), {200 => 3}, 'fixed: three pass';
is used('fixed', 'k'), 20, 'with a batch';
is $one->get('/fixed', 'X-Key' => 'exempt', 'If-None-Match' => '*')->status, 304, 'one is exempt';
is used('fixed', 'exempt'), 20, 'and has a batch taken';
my %before = map { $_ => stored(@$_) } (my @idle = (['auto', 'k'], ['fixed', 'k'], ['fixed', 'exempt']));
$redis->cmd('HSET', 'rl:fixed/60:moved', used => 3, reset => my $later = (time + 50) * 1000);
is_deeply requests($one, 'fixed', 'moved', 1), {200 => 1}, 'one in a window that will not be there any more';
is used('fixed', 'moved'), 23, 'has a batch taken, too';
$redis->cmd('HSET', 'rl:fixed/60:moved', used => 44, reset => $later + 1);

is_deeply requests($other, 'fixed', 'k', 50), {200 => 40, 429 => 10}, 'another machine spends what there is';
$_->travel('+0') for @nginx;
wait_until { used('fixed', 'k') == 43 } what => 'what is over';
wait_until { used('auto', 'k') == 2 } what => 'that of auto';
wait_until { used('fixed', 'exempt') == 0 } what => 'that of the exempt one';
is_deeply [map { stored(@$_)->{reset} } @idle], [(map { $before{$_}{reset} } @idle[0, 1]), undef],
    'what is over goes back when idle: the windows stay as they are, but for the one that nobody used';

my $passed = 0;
wait_until { $passed += requests($other, 'fixed', 'k', 5)->{200} // 0; $passed >= 17 } what => 'the other machine to hear of it';
wait_until { used('fixed', 'k') == 60 } what => 'the last token';
is_deeply requests($_, 'fixed', 'k', 5), {429 => 5}, 'who spends them, to the last' for $other, $one;
is $passed, 17, 'and no more';

$one->stand_at(time);
is_deeply requests($one, 'short', 'k', 1), {200 => 1}, 'short: a request passes';
is used('short', 'k'), 20, 'with a batch';
$one->travel('+0');
wait_until { my $used = used('short', 'k'); $used && $used < 20 } what => 'what is over in a short window';
is used('short', 'k'), 1, 'it goes back before it ends';

is used('fixed', 'moved'), 44, 'nothing goes back to another window';
is used('many', 'steady'), 1000, 'a key in use keeps its tokens';
$steady->kill;
my $spent = limits($one->get('/many', 'X-Key' => 'steady'))->{used};
cmp_ok $spent, '>', 10, 'of which some are spent';
wait_until { used('many', 'steady') == $spent } what => 'the rest of them';
my $calls = $redis->script_calls;
my %final = map { join('/', @$_) => used(@$_) } @idle, ['many', 'steady'];
$_->stop for @nginx;
is $redis->script_calls, $calls, 'nothing is left to give back at the end';
is_deeply {map { join('/', @$_) => used(@$_) } @idle, ['many', 'steady']}, \%final, 'and nothing comes back twice';
is $_->count_log(qr/rate limit: /), 0, 'not a word in the log' for @nginx;

done;
