# Where the zone has no room for the sums of a shard, nothing is said of it, however hot a key is.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    workers => 2, clock => 1,
    http    => $shards->block('main') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id; rate_limit_zone 128k;',
    server  => 'location / { rate_limit_key $arg_k; rate_limit 1000000r/h name=api store=main mode=charge_refund; }',
);
my $hot = RateLimit::HotKeys->new($nginx);
$hot->flood(20_000, '/x?k=hot' => 1)->next_minute;

# With room the next minute is told; then the one before would have been.
$nginx->reload(http => $nginx->{http} =~ s/128k/10m/r, wait_old => 1);
$hot->flood(20_000, '/x?k=hot' => 1)->next_minute->wait_lines(1);
cmp_ok abs(($hot->lines)[0]{commands} - 20_000), '<=', 20, 'nothing is left of the minute without room';
is scalar($hot->lines), 1, 'and it had no line';

done;
