# Wrong contents of Redis are put right: scripts flushed, keys deleted, resets that cannot be, windows that have closed.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('5r/h', redis_block('main', $redis));
my $client = $nginx->http;

sub key ($name) { return "rl:default/3600:$name" }

sub request ($name) { return $client->get('/x', 'X-Key' => $name) }

sub passes ($name, $used) {
    my $response = request($name);
    shows $response, 200, {used => $used}, "$name passes, with $used used";
    wait_until { $redis->used($name) == $used } what => "the charge of $name";
    return $response;
}

# The repair follows the charge that asked for it.
sub healthy ($name, $what) {
    wait_until { $redis->stored($name)->{reset} && $redis->cmd('PTTL', key($name)) > 0 }
        what => "$what: reset and expiry";
    my $left = $redis->stored($name)->{reset} - 1000 * now;
    ok about($left, 3_600_000, 5000), "$what: a period is left";
    ok about($redis->cmd('PTTL', key($name)) - 1000, $left, 1000), "$what: it expires a second later";
    return;
}

passes('first', 1);
healthy('first', 'a new window');
$redis->forget_calls;
$redis->cmd('SCRIPT', 'FLUSH');
passes('flushed', 1);
healthy('flushed', 'a window opened after SCRIPT FLUSH');
is $redis->calls('eval'), 1, 'the text is sent once';
passes('flushed', 2);

my $ahead = int(1000 * now) + 1_800_000;
my @impossible = (
    ['far-ahead', used => 5, reset => int(1000 * now) + 36_000_000],
    ['beyond-int', used => 5, reset => '9' x 18],
    ['long-closed', used => 5, reset => int(1000 * now) - 10_000],
    ['no-used', reset => $ahead],
    (map { ["used-$_", used => $_, reset => $ahead] } 'many', '-3', '1.5', ''),
    (map { ["reset-$_", used => 5, reset => $_] } 'soon', '-1', '1e12', ''),
);
for (@impossible) {
    my ($name, @fields) = @$_;
    $redis->cmd('HSET', key($name), @fields);
    my $response = request($name);
    shows $response, 200, {used => 1}, "$name does not block, nor count";
    wait_until { $redis->used($name) eq '1' } what => "the charge of $name";
    healthy($name, $name) if $name ne 'no-used';
    passes($name, 2);
}
$redis->cmd('HSET', key('no-reset'), used => 2);
shows request('no-reset'), 200, {used => 1}, 'a count without a reset does not block';
wait_until { $redis->used('no-reset') == 3 } what => 'the charge that counts on from it';
healthy('no-reset', 'the window to which both belong');
$redis->cmd('HSET', key('full'), used => 5, reset => $ahead);
is request('full')->status, 429, 'a window that is open and full rejects';

done;
