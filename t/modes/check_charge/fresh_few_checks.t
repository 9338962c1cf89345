# At ten requests a second of one key, at most one in twenty asks a replica: the primary's answers to the charges tell the count.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
# Ten times as fast as the clock on the wall.
my $nginx = RateLimit::Nginx->with_limit('5000r/h', $shards->block('main', timeouts('90s')), clock => 1, speed => 10);
my $client = $nginx->http;
for my $nth (1 .. 200) {
    my $end = monotonic() + 0.01;
    my $r   = $client->get('/x', 'X-Key' => 'k');
    is limits($r)->{used}, $nth, "$nth used" if $nth % 50 == 0;
    wait_until { monotonic() >= $end };
}
cmp_ok $shards->replica->calls('hmget'), '<=', 10, 'of 200 requests at most ten check';
$nginx->stop;
is $shards->primary->used('k'), 200, 'all are charged';

done;
