# burst= makes a limit a token bucket: what it takes, what does not go with it, and that a bucket and a window of one name are two.

use RateLimit::Test;

my $redis    = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
my $location = 'server { listen unix:%%DIR%%/socket; location / {';
sub wrong ($lines, $at, $pattern, $before = '') { return refuses("$before rate_limit_key \$arg_k; $location $lines } }", $at, $pattern, $lines) }

wrong("rate_limit 10r/s burst=$_;", "rate_limit 10r/s burst=$_", qr/invalid burst ".*" in "rate_limit": it is a whole number from 1 to 1000000000000 in/)
    for '', '0', '-1', '1.5', 'x', '20r', '1000000000001', '99999999999999999999';
wrong("rate_limit $_;", "rate_limit $_", qr/"burst=" makes "rate_limit" a token bucket, which has no windows: remove "window=clock", or "burst="/)
    for '10r/s burst=20 window=clock', '10r/month burst=20 window=clock';
wrong('rate_limit 10r/month burst=20;', 'burst=20', qr/a token bucket has no weeks and no months: write a number of days, or remove "burst=" and add "window=clock"/);
wrong('rate_limit 10r/s burst=20 mode=check_charge;', 'mode=check_charge',
    qr/a token bucket is charged before the request: remove "mode=check_charge" from the "rate_limit" with "burst="/);
wrong('rate_limit 1r/366d burst=1000;', 'burst=1000', qr/the bucket takes more than 30 years to fill: lower "burst=", or raise the rate in/);
wrong("rate_limit $_ burst=20;", "rate_limit $_", qr/a bucket refills no more than 10,000,000 a second: divide the rate, "burst=" and "cost=" by the same number in/)
    for '10101011r/s', '1000000000000r/s';
wrong('rate_limit 10r/s burst=20; rate_limit 10r/s burst=30;', 'burst=30', qr/names the same window as the one in/);

accepts("rate_limit_key \$arg_k; $location $_ } }", $_) for (
    'rate_limit 10r/s burst=1000000000;',
    'rate_limit 10r/s burst=$arg_b;',
    'rate_limit $arg_r burst=20;',
    'rate_limit 0r/s burst=20;',
    'rate_limit 10r/s burst=20 window=first mode=lease;',
    'rate_limit_mode check_charge; rate_limit 10r/s burst=20;',
    'rate_limit 10r/s burst=20; rate_limit 10r/s;',
    'rate_limit 10r/s burst=20; rate_limit 10r/m mode=check_charge;',
    'rate_limit 10000000r/s burst=20;',
);
accepts("$redis rate_limit_key \$arg_k; $location $_ } }", $_) for (
    'rate_limit 10r/s burst=20 store=main;',
    'rate_limit 10r/s burst=$arg_b store=$arg_s;',
    'rate_limit_mode check_charge; rate_limit 10r/s burst=20 store=main;',
);

done;
