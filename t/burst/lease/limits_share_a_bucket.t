# Limits that share a bucket in `lease`. Of different rates: the tokens of one are not worth the same to the other, so nobody spends, keeps or gives back those
# of another rate, and nobody takes a seat in what a request of another rate fetches. Of different bursts, of which the smaller one refills in too short a time to
# be leased: what the larger one has at hand comes beside it. In any time no more pass than the larger limit lets through, and of each no more than that one does.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, timeouts('9s')) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;
        keepalive_requests 1000000; rate_limit_cost $arg_c;',
    server => 'location /quick { rate_limit 1000r/s burst=20000; } location /slow { rate_limit 100r/s burst=2000; }
        location /large { rate_limit 10000r/s burst=4000 name=two; rate_limit_lease 200; } location /small { rate_limit 10000r/s burst=3999 name=two; }
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
my $before  = $redis->script_calls;
$redis->freeze;
for my $at (0, 1) {
    $clients[$at]->start_request(GET => ('/quick', '/slow')[$at] . '?k=seats&c=1');
    is $nginx->get('/limits/json')->status, 200, 'nginx has read it';
}
$redis->thaw;
is_deeply [map { $_->response->status } @clients], [200, 200], 'a request of each limit at the same time: both pass';
is $redis->script_calls - $before, 2, '... and each asks for itself';

is ask('large', 'cost', 3800), 200, 'a cost that fits';
is ask('small', 'cost', 3850), 429, 'one that reaches what is held back never does';
my ($most, $passed_small, $rate, $burst) = (-9**9, 0, 10_000, 4000);
my ($large, @small) = map { $nginx->http } 1 .. 8;
for my $round (1 .. 40) {
    $large->get("/large?k=$round&c=1");
    my $begun = monotonic();
    1 while monotonic() < $begun + 0.0115;    # the bucket fills up beside the tokens, which are about to die
    my $from = monotonic();
    my @costs = (199, 3700, 100, 70, 50, 30, 20, 10);
    my @at    = ($large, @small);
    $at[$_]->start_request(GET => ($_ == 0 ? '/large' : '/small') . "?k=$round&c=$costs[$_]") for 0 .. $#costs;
    my @passed = grep { $at[$_]->response->status == 200 } 0 .. $#costs;
    my $over   = sum0(map { $costs[$_] } @passed) - $burst - $rate * (monotonic() - $from);
    $most = $over if $over > $most;
    ++$passed_small if grep { $_ == 1 } @passed;
}
cmp_ok $most,         '<', 1e-6, 'never more than the larger burst and the rate';
cmp_ok $passed_small, '>', 0,    'most of the small bucket has passed';
diag sprintf 'at most %.1f above burst and rate', $most;

done;
