# Tokens belong to the machine: after a reload the new workers spend them, and old ones take no more than their requests
# need. They go back when the zone changes its size, when no limit wants them any more, and when the mode is another.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $http    = redis_block('main', $redis) . '
    rate_limit_store main; rate_limit_key $http_x_key; add_header X-Worker $pid always;';
my $lines = 'location / { rate_limit 1000r/100s name=n; }
    location /short { rate_limit 1000r/20s name=n; }
    location /free { }';
my %leases = (http => $http . 'rate_limit_mode lease; rate_limit_lease 100;', server => $lines);
my $nginx = RateLimit::Nginx->start(workers => 2, clock => 1, %leases);
$nginx->stand_at(time);    # nothing goes back for being idle

sub used ($key, $period = 100) { return $redis->used($key, "n/$period") }
sub requests ($uri, $key, $count) { return statuses(map { $nginx->get($uri, 'X-Key' => $key) } 1 .. $count) }

is_deeply requests('/x', 'k', 10), {200 => 10}, 'requests pass';
is used('k'), 100, 'with a batch';
my $calls = $redis->script_calls;
$nginx->reload(wait_old => 1);
is used('k'), 100, 'a reload gives nothing back';
is_deeply requests('/x', 'k', 90), {200 => 90}, 'the new workers spend it';
is $redis->script_calls, $calls, 'without a call';
is_deeply requests('/x', 'k', 1), {200 => 1}, 'and take another one';
is used('k'), 200, 'when it is used up';

# Requests that leaving workers have begun to read.
sub begin ($key) {
    my $client = $nginx->http;
    $client->send("GET /free HTTP/1.1\r\nHost: a\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\nX-Key: $key\r\n");
    my $worker = $client->response->header('X-Worker');
    return sub {
        $client->send("\r\n");
        my $response = $client->response;
        $client->close;
        is $response->header('X-Worker'), $worker, "$key: a leaving worker answers";
        return $response->status;
    };
}
my @begun = map { begin($_) } qw(leaves leaves shared);
$nginx->reload;
is_deeply requests('/x', 'shared', 1), {200 => 1}, 'a new worker takes a batch';
$calls = $redis->script_calls;
is $begun[2]->(), 200, 'of which it spends';
is $redis->script_calls, $calls, 'without a call';
is $begun[$_]->(), 200, 'of other keys it takes' for 0, 1;
is used('leaves'), 2, 'what its requests need';
is $redis->script_calls, $calls + 2, 'one by one';
wait_until { !$nginx->old_workers } what => 'them to leave';
is used('shared'), 100, 'what new workers have at hand stays';
$nginx->travel('+0');

# Other limits, and other modes, of the same names.
my %none = (http => $http, server => 'location / { }');
for my $case (['no limit', %none], ['another mode', http => "$http rate_limit_mode charge_refund;", server => $lines]) {
    my ($what, %new) = @$case;
    my $key = $what =~ s/ .*//r;
    is_deeply requests('/short', $key, 5), {200 => 5}, "$what: requests pass";
    is used($key, 20), 100, 'with a batch';
    $nginx->reload(%new, wait_old => 1);
    wait_until { used($key, 20) == 5 } what => 'what was not spent';
    is_deeply requests('/short', $key, 1), {200 => 1}, 'and requests pass';
    is used($key, 20), $what eq 'no limit' ? 5 : 6, 'nobody has any tokens then';
    $nginx->reload(%leases, wait_old => 1);
}

is_deeply requests('/x', 'zone', 5), {200 => 5}, 'requests pass';
is used('zone'), 100, 'with a batch';
$nginx->reload(http => "rate_limit_zone 1m; $leases{http}", wait_old => 1);
is used('zone'), 5, 'who leaves a zone that will be no more gives all back';
is limits($nginx->get('/x', 'X-Key' => 'zone'))->{used}, 6, 'and it goes on from there';

done;
