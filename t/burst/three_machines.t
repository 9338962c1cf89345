# Three machines, each asked by several clients at once, take from one bucket as fast as they can: in any time no more pass than the burst and
# the rate, and nearly as many; a machine whose clock is ten seconds ahead, or behind, rejects no more than the others.

use RateLimit::Test;
use List::Util qw(min);

my $redis    = RateLimit::Redis->start;
my %of       = ('/refund' => [50, 25, 0], '/lease' => [400, 400, 20]);    # the rate, the burst, and what of that is held back
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, log_level => 'error',
        http    => redis_block('main', $redis) . 'keepalive_requests 1000000; rate_limit_key $http_x_key; rate_limit_store main;',
        server  => 'location /refund { rate_limit 50r/s burst=25 mode=charge_refund name=refund; }
            location /lease { rate_limit 400r/s burst=400 mode=lease name=lease; }')
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

for my $uri ('/refund', '/lease') {
    my ($rate, $burst, $held_back) = @{$of{$uri}};
    my sub rush ($key) { return RateLimit::Rush->new(\@machines, connections => 4, uri => $uri, headers => ['X-Key' => $key]) }
    $redis->forget_calls;
    my $rush  = rush('fast');
    my @fast  = $rush->go(1)->shares;
    my @paced = $rush->go(1.5, every => 12 / (3 * $rate))->shares;
    my ($passed, $over) = (scalar $rush->passed, $rush->most_over($burst, $rate));
    diag sprintf '%s: %d of %d requests passed, %.1f above burst and rate, %d scripts; of each machine %s and %s', $uri, $passed, $rush->asked, $over,
        $redis->script_calls, map { join ' ', map { sprintf '%.1f%%', 100 * $_ } @$_ } \@fast, \@paced;

    cmp_ok $over, '<', 1e-6, "$uri: requests that pass are never more than burst and rate in any time";
    my $time = ($rush->passed)[-1][1] - ($rush->passed)[0][2];
    cmp_ok $passed, '>=', 0.8 * min($burst - $held_back + $rate * $time, $rush->asked), '... and nearly as many';
    cmp_ok $redis->script_calls, '<=', $passed / 2, '... by tokens that were taken in batches' if $uri eq '/lease';
    my $mean = sum0(@paced) / @paced;
    cmp_ok $paced[$_], '>=', $mean / 4, "... three times the rate: machine $_ lets a part of its requests pass, as the others do" for 0 .. 2;

    my $slow = rush('slow')->go(1, every => 12 / (0.6 * $rate));
    is scalar($slow->passed), $slow->asked, '... and none rejects anything of what comes slower than the bucket is refilled';
}

done;
