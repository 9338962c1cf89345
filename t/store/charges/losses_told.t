# What a line a second holds back is told within two seconds, and when the worker ends: the numbers add up.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hincrby|evalsha)$/;
    return $conn->state('silent') ? $conn->hold('gate', integer(8)) : error('ERR what');
});
my $replica = RateLimit::FakeRedis->start(handler => reading(7, $reset));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$redis, $replica], timeouts('9s')) . "
        rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }",
    server => 'rate_limit_key $http_x_key; location / { rate_limit 1000r/h store=main; }
        location /rate { rate_limit $http_x_rate; } location /gone { rate_limit 5r/h store=gone; }',
);
my sub traffic ($requests) { return statuses($nginx->parallel(connections => 4, requests => $requests, uri => '/x', headers => ['X-Key' => 'k'])) }
my sub told ($what) {
    my ($sum, $log) = (0, $nginx->error_log);
    $sum += $1 while $log =~ /rate limit: (\d+) charges for primary \S+ of "main" were $what/g;
    return $sum;
}

is_deeply traffic(40), {200 => 40}, 'charges that are dropped';
wait_until { told('dropped') == 40 } what => 'all of them to be told';
is $nginx->count_log(qr/were dropped: another error.*\(40 dropped so far\)/), 1, 'with their sum';

# A bad rate has a throttle of its own, and its text.
# Also while a store is away, which has lines of its own.
$nginx->get('/gone', 'X-Key' => 'k') for 1 .. 5;
$nginx->get('/rate', 'X-Key' => 'k', 'X-Rate' => $_) for '5r', 'x' x 100, qq{6"\\\x07\xff};
$nginx->wait_log(qr/could not be checked: invalid rate "5r": a rate has the form Nr\/PERIOD.*request: /);
$nginx->wait_log(qr/could not be checked: invalid rate "6\\x22\\x5c\\x07\\xff": a rate .* \(2 requests since the last such line\)/);
$nginx->get('/rate', 'X-Key' => 'k', 'X-Rate' => 'x' x 100);
$nginx->wait_log(qr/could not be checked: invalid rate "x{64}\.\.\.": a rate/);
is $nginx->count_log(qr/no node of the shard is up/) > 0, 1, 'and the store that is away';

# Each line comes within two seconds of the one before, by nginx's own clock.
my @at = map { /^\S+ (\d+):(\d+):(\d+) / ? 3600 * $1 + 60 * $2 + $3 : () } grep { /were dropped/ } split /\n/, $nginx->error_log;
cmp_ok $at[1] - $at[0], '<=', patience(2), 'the rest is told within two seconds';

# The connection breaks, and the worker leaves within the same second, after a reload. What waits for the answer to a charge
# leaves when that is in doubt: how many leave together is a matter of time.
my sub sent () { return $redis->charged->{'rl:default/3600:k'} - 40 }
$redis->set(silent => 1);
my $doubt = 0;
for my $round (1, 2) {
    is_deeply traffic(7), {200 => 7}, 'charges without an answer';
    wait_until { sent() > $doubt } what => 'some of them to be sent';
    $doubt = sent();
    $redis->drop;
    $nginx->wait_log(qr/in doubt so far/);
}
wait_until { sent() == 14 } what => 'those that waited';
$redis->set(silent => 0);
$redis->release('gate');
$nginx->reload(wait_old => 1);
is told('sent and not answered: they are in doubt'), $doubt, 'all are told when the worker has ended';
is $nginx->count_log(qr/\($doubt in doubt so far\)/), 1, 'with their sum';

$nginx->stop;

done;
