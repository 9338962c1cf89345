# Limits of different rates that share a bucket in `lease`: the tokens of one are not worth the same to the other. So nobody spends, keeps or
# gives back those of another rate, and nobody takes a seat in what a request of another rate fetches: in any time no more pass than the larger
# limit lets through, and of each limit's requests no more than that one does.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $conn->state('slow') && $words->[0] =~ /^eval/ ? $conn->hold('gate', $answer) : $answer;
}));
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $relay, timeouts('9s')) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;
        keepalive_requests 1000000; rate_limit_cost $arg_c;',
    server => 'location /quick { rate_limit 1000r/s burst=20000; } location /slow { rate_limit 100r/s burst=2000; }
        location /limits/ { rate_limit off; rate_limit_console view; }');
my $http = $nginx->http;
my %tag  = map { $_ => $http->get("/$_?k=tag&c=1")->header('ETag') } qw(quick slow);
my sub ask ($uri, $key, $cost, $exempt = 0) {
    return $http->get("/$uri?k=$key&c=$cost", $exempt ? ('If-None-Match' => $tag{$uri}) : ())->status;
}
my sub missing ($key) { return (($redis->bucket("rl:default/1b:$key"))[0] // 0) / 1e9 }
my sub all_gone () {
    my $told = decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases};
    return $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched};
}

# A request that is exempt leaves a thousand tokens at hand.
my ($passed, $begun) = (0, monotonic());
my sub spend_all () {
    for my $cost (5000, 1000, 100) { $passed += $cost while ask('quick', 'dead', $cost) == 200 }
}
spend_all();
for my $round (1 .. 2) {
    wait_until { missing('dead') < 17 } what => 'three thousand tokens to be there';
    is ask('quick', 'dead', 1000, 1), 304, "round $round: one that is exempt";
    ask('slow', 'dead', 1, 1);
    wait_until { all_gone() } what => 'the tokens to go back';
    spend_all();
}
my $time = monotonic() - $begun;
cmp_ok $passed, '<=', 20_000 + 1000 * $time, 'tokens of the quick limit do not go back as those of the slow one';

($passed, $begun) = (0, monotonic());
while (monotonic() < $begun + 2) {
    ask('quick', 'spent', 1, 1);
    my $n = 0;
    ++$passed while $n++ < 50 && ask('slow', 'spent', 1) == 200;
}
$time = monotonic() - $begun;
cmp_ok $passed, '<=', 2000 + 100 * $time, 'the slow limit spends none of them';
cmp_ok $passed, '>=', 50, '... and has its own';

my @clients = map { $nginx->http } 1 .. 2;
my sub scripts () { return scalar grep { $_->[0] =~ /^eval/ && $_->[3] =~ /:seats$/ } $relay->commands }
$relay->set(slow => 1);
$clients[0]->start_request(GET => '/quick?k=seats&c=1');
wait_until { scripts() == 1 } what => 'a batch to be asked for';
$clients[1]->start_request(GET => '/slow?k=seats&c=1');
wait_until { scripts() == 2 } what => 'the slow limit to ask for itself';
$relay->set(slow => '');
$relay->release('gate');
is_deeply [map { $_->response->status } @clients], [200, 200], 'both pass';

done;
