# At ten requests a second of one key, at most one in twenty asks a replica: the primary's answers to the charges tell the count.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->with_limit('5000r/h', $shards->block('main'), clock => 1);
my $client = $nginx->http;
for my $nth (1 .. 100) {
    $nginx->travel(sprintf '+%.1f', $nth / 10);
    $client->get('/x', 'X-Key' => 'k');
    wait_until { $shards->primary->used('k') == $nth } what => "the charge of $nth";
}
cmp_ok $shards->replica->calls('hmget'), '<=', 5, 'of 100 requests at most five check';

done;
