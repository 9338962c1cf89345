# A rejection whose error_page lands in the same location shows that page, whatever limits of a later phase the
# location has, and asks the store once.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main', always_checks()),
    files  => {'busy.html' => 'my own page'},
    server => 'error_page 429 /busy.html; rate_limit_key $http_x_key; rate_limit_store main;
        location / { rate_limit 1r/h name=early; rate_limit 100r/h name=late phase=precontent; }
        location /late/ { alias %%DIR%%/html/; error_page 429 /late/busy.html; rate_limit 100r/h name=first;
            rate_limit 1r/h name=last phase=precontent; }',
);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my @client = ('X-Key' => 'k');

# A limit that is used up is known from memory.
for (['/x', 'early', 0], ['/late/x', 'last', 1]) {
    my ($uri, $name, $reads) = @$_;
    is $nginx->get($uri, @client)->status, 200, "$uri: the first request passes";
    wait_until { $primary->calls('evalsha') == 2 } what => 'its charges';
    $shards->wait_synced;
    $shards->forget_calls;
    my $rejected = $nginx->get($uri, @client);
    shows $rejected, 429, {resource => $name}, 'the second does not, with the headers of the limit that rejected';
    is $rejected->body, 'my own page', 'the page';
    is $replica->calls('hmget'), $reads, 'each other limit is read once';
    cmp_ok $primary->calls('hmget'), '<=', $reads, 'and perhaps once more, on the primary, where that took too long';
    $shards->forget_calls;
}
$nginx->stop;
is $primary->used('k', "$_/3600"), 1, "$_: the rejected request is not charged" for qw(early late first last);

done;
