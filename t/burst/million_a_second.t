# A bucket of a million a second, in requests that cost 100 each and come faster than that, by several workers at once: what passes is within
# a thousandth of burst and rate.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    workers => 4, log_level => 'error', http => 'keepalive_requests 1000000000; access_log off;',
    server => 'rate_limit_key $arg_k; rate_limit 1000000r/s burst=1000000 cost=100;',
);
$nginx->get('/x?k=warm');
my $begun  = monotonic();
my $flood  = RateLimit::Flood->start(port => $nginx->port, uris => ['/x?k=1'], requests => 400_000, connections => 16);
my $counts = $flood->counts;
my $took   = monotonic() - $begun;
is $counts->{2} + $counts->{4}, 400_000, 'all are answered';
cmp_ok $counts->{4}, '>', 0, '... some by 429';
cmp_ok $counts->{2}, '<=', 10_000 + 10_000 * $took, 'no more pass than burst and rate';
my $connecting = 0.02;    # seconds, which h2load counts
cmp_ok $counts->{2}, '>=', 0.999 * (10_000 + 10_000 * ($counts->{seconds} - $connecting)), 'and a thousandth less at most';

done;
