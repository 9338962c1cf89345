# A bucket of 0r/PERIOD rejects everything, whatever its burst, in each store and mode, and asks nobody: Limit and Used are 0, and Reset is a period from now.
# A month of 0 has its end in the calendar, and no bucket.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis) . 'rate_limit_key all; rate_limit_headers github ietf;
        add_header X-Outcome "$rate_limit_status $rate_limit_source $rate_limit_all" always;',
    server => 'location /local { rate_limit 0r/s burst=5 name=zero; }
        location /redis { rate_limit 0r/m burst=5 name=zero store=main; }
        location /lease { rate_limit 0r/10s burst=5000 name=lease store=main mode=lease; }
        location /rate { rate_limit $arg_r burst=5 name=zero; }
        location /burst { rate_limit 0r/h burst=$arg_b name=zero; }
        location /dry { rate_limit 0r/s burst=5 name=zero dry_run=on; }
        location /month { rate_limit 0r/month window=clock name=zero; }',
);
my $now = 1_800_000_000;    # 15 January 2027, 8:00
$nginx->stand_at($now);

for (['/local', 1], ['/redis', 60], ['/lease', 10], ['/rate?r=0r/d', 86_400], ['/burst?b=5', 3600], ['/burst?b=', 3600]) {
    my ($uri, $period) = @$_;
    my $name = $uri eq '/lease' ? 'lease' : 'zero';
    for ('first', 'next') {
        my $response = $nginx->get($uri);
        shows $response, 429, {limit => 0, used => 0, remaining => 0, reset => $now + $period, retry_after => $period}, "$uri: the $_ request";
        is $response->header('RateLimit'), qq("$name";r=0;t=$period), '... as RateLimit says, too';
        is $response->header('RateLimit-Policy'), qq("$name";q=0;w=$period), '... and the policy';
        is $response->header('X-Outcome'), "REJECTED none $name=REJECTED:0/0", '... and the variables';
    }
}
shows $nginx->get('/dry'), 200, {limit => 0, used => 0, remaining => 0, retry_after => undef}, 'a dry run lets pass';

my $month = $nginx->get('/month');
shows $month, 429, {limit => 0, used => 0, remaining => 0}, 'a month of 0 rejects';
is $month->header('RateLimit-Policy'), '"zero";q=0', '... and says no length of a month';
cmp_ok limits($month)->{retry_after}, '<=', 31 * 86_400, '... of which none is longer than 31 days';
is $redis->calls(qw(hmget hincrby evalsha eval bitfield)), 0, 'Redis is not asked';

refuses('rate_limit_key $arg_k; server { listen unix:%%DIR%%/socket; location / { rate_limit 0r/month burst=5; } }', 'burst=5',
    qr/no weeks and no months/, 'a bucket of a month');

done;
