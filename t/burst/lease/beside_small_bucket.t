# Two bursts on one bucket, of which the smaller one refills in too short a time to be leased. What the larger one has at hand comes beside it:
# nevertheless no more pass at once than the larger burst.

use RateLimit::Test;
use List::Util qw(sum0);

my ($rate, $burst) = (10_000, 4000);
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, timeouts('9s')) . 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease;
        rate_limit_on_error deny; rate_limit_cost $arg_c;',
    server => "location /large { rate_limit ${rate}r/s burst=$burst; rate_limit_lease 200; } location /small { rate_limit ${rate}r/s burst=3999; }",
);
my ($large, @small) = map { $nginx->http } 1 .. 8;
is $large->get('/large?k=cost&c=3800')->status, 200, 'a cost that fits';
is $large->get('/small?k=cost&c=3850')->status, 429, 'one that reaches what is held back never does';

my ($most, $passed_small) = (-9**9, 0);
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
