# A bucket of a million a second, in requests that cost 100 each or more and come faster than that, by several workers at once: no more pass than
# burst and rate. They cost so much that five times as many come, as fast as nginx answers at first. That hardly fewer pass: t/unit/bucket_test.cpp.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    workers => 4, log_level => 'error', http => 'keepalive_requests 1000000000; access_log off;',
    server => "rate_limit_key \$arg_k; rate_limit 1000000r/s burst=1000000 cost=\$arg_cost;",
);
sub flood ($query, $requests) {
    return RateLimit::Flood->start(port => $nginx->port, uris => ["/x?$query"], requests => $requests, connections => 16)->counts;
}
my $cost     = max(100, ceil(500 * flood('k=warm&cost=1', 10_000)->{seconds}));
my $requests = int(40_000_000 / $cost);
my $begun    = monotonic();
my $counts   = flood("k=1&cost=$cost", $requests);
my $took     = monotonic() - $begun;
my $a_second = 1_000_000 / $cost;
is $counts->{2} + $counts->{4}, $requests, 'all are answered';
cmp_ok $counts->{4}, '>', $counts->{2} / 2, '... half as many by 429, or more: they came faster than they may';
cmp_ok $counts->{2}, '<=', $a_second * (1 + $took), 'no more pass than burst and rate';

done;
