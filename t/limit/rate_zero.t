# 0r/PERIOD rejects everything, windows and buckets of whatever burst, in each store and mode, and asks nobody, also for limits beside it: Limit, Used and
# Remaining are 0, and Reset is a period ahead of each request. A month of 0 has its end in the calendar, and no bucket.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1,
    http   => $shards->block('main') . 'rate_limit_key all; rate_limit_headers github ietf;
        add_header X-Outcome "$rate_limit_status $rate_limit_source $rate_limit_all" always;',
    server => 'location /window { rate_limit 0r/m store=main; }
        location /clock { rate_limit 0r/d window=clock store=main; }
        location /beside { rate_limit 9r/h name=other store=main; rate_limit 0r/s name=none store=main; }
        location /local { rate_limit 0r/s burst=5 name=zero; }
        location /redis { rate_limit 0r/m burst=5 name=zero store=main; }
        location /lease { rate_limit 0r/10s burst=5000 name=lease store=main mode=lease; }
        location /rate { rate_limit $arg_r burst=5 name=zero; }
        location /burst { rate_limit 0r/h burst=$arg_b name=zero; }
        location /dry { rate_limit 0r/s burst=5 name=zero dry_run=on; }
        location /dry_window { rate_limit 0r/h dry_run=on store=main; }
        location /month { rate_limit 0r/month window=clock name=zero; }',
);
my $now = 1_800_000_000;    # 15 January 2027, 8:00
$nginx->stand_at($now);

for (['/window', 60, 'default'], ['/clock', 86_400, 'default'], ['/beside', 1, 'none'], ['/local', 1, 'zero'], ['/redis', 60, 'zero'], ['/lease', 10, 'lease'],
    ['/rate?r=0r/d', 86_400, 'zero'], ['/burst?b=5', 3600, 'zero'], ['/burst?b=', 3600, 'zero']) {
    my ($uri, $period, $name) = @$_;
    my ($other, $policy, $passed) = $uri eq '/beside' ? ('"other";r=9;t=3600, ', '"other";q=9;w=3600, ', 'other=-:0/9,') : ('', '', '');
    for ('first', 'next') {
        my $response = $nginx->get($uri);
        shows $response, 429, {limit => 0, used => 0, remaining => 0, reset => $now + $period, resource => $name, retry_after => $period}, "$uri: the $_ request";
        is $response->header('RateLimit'), qq($other"$name";r=0;t=$period), '... as RateLimit says, too';
        is $response->header('RateLimit-Policy'), qq($policy"$name";q=0;w=$period), '... and the policy';
        is $response->header('X-Outcome'), "REJECTED none $passed$name=REJECTED:0/0", '... and the variables';
    }
}
shows $nginx->get($_), 200, {limit => 0, used => 0, remaining => 0, retry_after => undef}, 'a dry run lets pass, and shows it' for '/dry', '/dry_window';

my $month = $nginx->get('/month');
shows $month, 429, {limit => 0, used => 0, remaining => 0}, 'a month of 0 rejects';
is $month->header('RateLimit-Policy'), '"zero";q=0', '... and says no length of a month';
cmp_ok limits($month)->{retry_after}, '<=', 31 * 86_400, '... of which none is longer than 31 days';
$nginx->stop;
is $_->calls(qw(hmget hincrby evalsha eval bitfield)), 0, 'Redis is not asked' for $shards->all;

refuses('rate_limit_key $arg_k; server { listen unix:%%DIR%%/socket; location / { rate_limit 0r/month burst=5; } }', 'burst=5',
    qr/no weeks and no months/, 'a bucket of a month');

done;
