# A key with less than a fifth of a shard's commands is not named, and none where the shard was sent fewer than 10,000 in the minute.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1);
my $other  = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1, http => $shards->block('main') . $other->block('other') . 'keepalive_requests 1000000; rate_limit_mode charge_refund; rate_limit_key $arg_k;',
    server => 'location / { rate_limit 1000000r/h name=api store=main; } location /told { rate_limit 1000000r/h name=told store=other; }',
);
my $hot = RateLimit::HotKeys->new($nginx);

# One in 16 commands is looked at: of 40,000 the share is known to within 2.4%, in three deviations. The other store's line tells that the minute has
# been looked at.
$hot->flood(40_000, '/x?k=warm' => 16, '/x?k=luke' => 16, '/x?k=*' => 68)->flood(12_000, '/told?k=hot' => 1)->next_minute->wait_lines(1);
$hot->flood(9_900, '/x?k=only' => 1)->flood(12_000, '/told?k=hot' => 1)->next_minute->wait_lines(2);
$hot->flood(10_100, '/x?k=only' => 1)->next_minute->wait_lines(3);
is_deeply [map { $_->{limit} } $hot->lines], [qw(told told api)], 'only with more than a fifth, of enough';

done;
