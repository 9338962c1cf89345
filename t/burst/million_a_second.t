# A bucket of a million a second, in requests that cost 100 each and come faster than that, by several workers at once: what passes is within
# a thousandth of burst and rate.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    workers => 4, log_level => 'error', http => 'keepalive_requests 1000000000; access_log off;',
    server => 'rate_limit_key $arg_k; rate_limit 1000000r/s burst=1000000 cost=100;',
);
$nginx->get('/x?k=warm');
my $requests = int(400_000 / patience(1));
my $begun    = monotonic();
my $flood    = RateLimit::Flood->start(port => $nginx->port, uris => ['/x?k=1'], requests => $requests, connections => 16);
my $counts = $flood->counts;
my $took   = monotonic() - $begun;
is $counts->{2} + $counts->{4}, $requests, 'all are answered';
cmp_ok $counts->{4}, '>', 0, '... some by 429';
cmp_ok $counts->{2}, '<=', 10_000 + 10_000 * $took, 'no more pass than burst and rate';
my $quiet = patience(0.1);    # seconds that h2load counts, and in which it connects, or waits for its last answers
cmp_ok $counts->{2}, '>=', 0.999 * (10_000 + 10_000 * ($counts->{seconds} - $quiet)), 'and a thousandth less at most';

done;
