# Three machines that lease tokens of one bucket, and are asked as fast as they can answer, or so that each always has tokens at hand: in any
# time no more pass than the burst and the rate, and not much less than that; Redis hears of few of the requests.

use RateLimit::Test;
use List::Util qw(min);
use Time::HiRes ();

my ($rate, $burst) = (1000, 1000);
my $life     = $burst / $rate / 20;
my $redis    = RateLimit::Redis->start;
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, http => redis_block('main', $redis) . "keepalive_requests 1000000; rate_limit_key \$http_x_key; rate_limit_store main;
            rate_limit_mode lease; add_header X-Source \$rate_limit_source always;",
        server => "location /auto { rate_limit ${rate}r/s burst=$burst; } location /fixed { rate_limit ${rate}r/s burst=$burst name=fixed; rate_limit_lease 50; }")
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

for my $uri ('/auto', '/fixed') {
    my @clients = map { $_->http } @machines;
    my @passed;    # [when it was sent, when it was answered]
    my (%of, %source, $requests);
    my sub ask ($at) {
        my $sent     = monotonic();
        my $response = $clients[$at]->get($uri, 'X-Key' => 'a');
        ++$requests;
        return if $response->status != 200;
        push @passed, [$sent, monotonic()];
        ++$of{$at};
        ++$source{$response->header('X-Source')};
    }
    my sub flood ($seconds) {
        my $end = monotonic() + $seconds;
        while (monotonic() < $end) { ask($_) for 0 .. $#clients }
    }
    # This client comes to each machine again when the tokens there are about to expire.
    my sub hoard ($seconds) {
        my $end = monotonic() + $seconds;
        while (monotonic() < $end) {
            ask($_) for 0 .. $#clients;
            my $next = monotonic() + 0.8 * $life;
            wait_until { monotonic() >= $next } what => 'the tokens to grow old';
        }
    }
    $redis->forget_calls;
    flood(1.5);
    my $full  = $passed[-1][0] - $passed[0][1];
    my $count = @passed;
    my $calls = $redis->script_calls;
    diag sprintf '%s: %d of %d requests passed in %.2f s; %d calls of Redis', $uri, $count, $requests, $full, $calls;
    diag join ' ', map { "$_ $source{$_}" } sort keys %source;
    cmp_ok $count, '>=', min(0.4 * ($burst + $rate * $full), $requests / 4), "$uri: much of what may pass does";
    # Tokens that expire unspent have to be fetched again where requests come slowly.
    cmp_ok $calls, '<=', max($count / 4, 2 * @machines * $full / $life), '... with few calls of Redis';
    is scalar(keys %of), 3, '... on all machines';
    for (1 .. 2) { hoard(1.1 * $burst / $rate); flood(0.2) }

    # The tokens of a request that passed may have been taken at any time while its answer was awaited.
    my ($most, $least) = (-9**9, undef);
    for my $n (0 .. $#passed) {
        my $from = $n - $rate * $passed[$n][0];
        $least = $from if !defined $least || $from < $least;
        my $over = $n - $rate * $passed[$n][1] - $least + 1 - $burst;
        $most = $over if $over > $most;
    }
    cmp_ok $most, '<', 1e-6, "$uri: " . @passed . ' requests are never more than burst and rate in any time';
    diag sprintf '%.1f above burst and rate', $most;
}

done;
