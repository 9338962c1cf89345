# lease: when Redis has less than a batch, what it has is taken. What is at hand and what is left in Redis count together
# for a request; one that costs more is rejected, smaller ones still pass, and all of the limit is spent.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http    => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_cost $http_x_cost; rate_limit_key $http_x_key;',
    server => 'rate_limit_mode lease;' . join('', map { "
        location /batch-$_ { rate_limit 10r/h name=batch-$_; rate_limit_lease $_; }" } 1, 4, 7, 100) . '
        location /batch-auto { rate_limit 10r/h name=batch-auto; }
        location /low { rate_limit 3r/h name=shared; rate_limit_lease 8; }
        location /high { rate_limit 10r/h name=shared; rate_limit_lease 8; }
        location /refund { rate_limit 10r/h name=refund mode=charge_refund; }',
);

sub ask ($uri, $key, $cost = 1) { return $nginx->get("/$uri", 'X-Key' => $key, 'X-Cost' => $cost) }
sub stored ($name, $key)        { return $redis->used($key, "$name/3600") }

sub shown ($response) {
    my $limits = limits($response);
    return join ' ', $response->status, @$limits{qw(used remaining)}, defined $limits->{retry_after} ? 'later' : ();
}

# One after the other: every cost that fits passes, as in charge_refund.
my @orders = ([(1) x 12], [(3) x 5, (1) x 3], [3, 1, 3, 3, 1, 1], [1, 1, 3, 3, 3, 3, 1, 1], [4, 7, 5, 1, 10, 2], [11, 10, 1]);
for my $batch (1, 4, 7, 100, 'auto') {
    for my $costs (@orders) {
        my $key      = join '-', @$costs;
        my @leased   = map { shown(ask("batch-$batch", $key, $_)) } @$costs;
        my @refunded = map { shown(ask('refund', "$batch/$key", $_)) } @$costs;
        is_deeply \@leased, \@refunded, "$batch at a time, limit 10, costs @$costs: as charge_refund";
    }
}
is_deeply [map { shown(ask('batch-4', 'shown', $_)) } 3, 3, 3, 3, 1, 1],
    ['200 3 7', '200 6 4', '200 9 1', '429 9 0 later', '200 10 0', '429 10 0 later'],
    'what a rejected request sees is what is spent';

is shown(ask('batch-4', 'both', 3)), '200 3 7', 'a batch of 4, a cost of 3:';
is stored('batch-4', 'both'), 4, 'one is at hand';
is shown(ask('batch-4', 'both', 3)), '200 6 4', 'another 3:';
is stored('batch-4', 'both'), 8, 'two are at hand';
is shown(ask('batch-4', 'both', 4)), '200 10 0', '4, of which neither this machine nor Redis has enough';
is stored('batch-4', 'both'), 10, 'take all';

ask('batch-4', 'left', 3) for 1 .. 3;
is shown(ask('batch-4', 'left', 3)), '429 9 0 later', 'three times 3 pass, and no fourth';

# Several at a time.
my @costs = map { $_ % 3 ? 1 : 3 } 0 .. 39;
for my $batch (1, 4, 7, 100, 'auto') {
    my @responses = $nginx->parallel(connections => 20,
        requests => [map { ["/batch-$batch", 'X-Key' => 'parallel', 'X-Cost' => $_] } @costs]);
    my @passed = grep { $responses[$_]->status == 200 } 0 .. $#responses;
    is sum0(@costs[@passed]), 10, "$batch at a time, 20 connections: exactly the limit passes";
    is scalar(grep { $_->status !~ /^(?:200|429)$/ } @responses), 0, 'all others are rejected';
}

# One window under two limits. Once a second the primary is asked whether a limit is still reached.
is_deeply [map { shown(ask('high', 'two')) } 1 .. 3], ['200 1 9', '200 2 8', '200 3 7'], 'the higher of two limits';
is shown(ask('low', 'two')), '429 3 0 later', 'the lower one is reached, whatever is at hand';
my $calls = $redis->calls('evalsha');
wait_until { ask('low', 'two'); $redis->calls('evalsha') > $calls } what => 'the question';
is shown(ask('low', 'two')), '429 3 0 later', 'also after the primary was asked';
is $redis->calls('evalsha'), $calls + 1, 'once';

$nginx->stop;
is stored('batch-4', 'left'), 9, 'what nobody could use goes back';
is $nginx->count_log(qr/could not be checked|doubt/), 0, 'nothing went wrong';

done;
