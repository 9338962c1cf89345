# delay= lets requests wait for the tokens of a bucket: what it takes, and what it does not go with.

use RateLimit::Test;

my $redis    = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
my $location = 'server { listen unix:%%DIR%%/socket; location / {';
sub wrong ($lines, $at, $pattern, $before = '') { return refuses("$before rate_limit_key \$arg_k; $location $lines } }", $at, $pattern, "$before $lines") }

wrong("rate_limit 10r/s burst=20 delay=$_;", "delay=$_",
    qr/invalid delay ".*" in "rate_limit": it is "all", or how many tokens pass at once: a whole number from 1 to that of "burst=" in/)
    for '', '-1', '1.5', 'x', 'nodelay', '1000000000001', '99999999999999999999';
wrong('rate_limit 10r/s burst=20 delay=0;', 'delay=0', qr/invalid delay "0" in "rate_limit": 0 would let every request wait, .* write "all"/);
wrong("rate_limit 10r/s burst=20 delay=$_;", "delay=$_", qr/invalid delay ".*" in "rate_limit": it takes no variables: write "all", or a whole number in/)
    for '$arg_d', '1$arg_d';
wrong('rate_limit 10r/s burst=20 delay=21;', 'delay=21',
    qr/"delay=21" in "rate_limit" is above "burst=20", so that nothing would wait: write 1 to 20, or "all", or remove "delay=" in/);
wrong("rate_limit 10r/s delay=all $_;", "delay=all $_", qr/"delay=" in "rate_limit" lets requests wait for the tokens of a bucket: add "burst=", or remove "delay=" in/)
    for '', 'mode=charge_refund', 'window=clock';
wrong('rate_limit 10r/s burst=20 delay=all mode=check_charge;', 'mode=check_charge', qr/a token bucket is charged before the request: remove "mode=check_charge"/);
wrong('rate_limit 10r/s burst=20 delay=all window=clock;', 'window=clock', qr/has no windows: remove "window=clock", or "burst="/);
my $lease = qr/"delay=" does not go with "mode=lease", .*: write "mode=charge_refund", or remove "delay=" from "rate_limit" in .*:\d+/;
wrong('rate_limit 10r/s burst=20 delay=all mode=lease;', 'mode=lease', $lease);
wrong('rate_limit 10r/s burst=20 delay=3 mode=lease store=main;', 'mode=lease', $lease, $redis);
wrong('rate_limit 10r/s burst=20 delay=3;', 'delay=3', $lease, 'rate_limit_mode lease;');
wrong('rate_limit 10r/s burst=$arg_b delay=3 mode=lease;', 'delay=3', $lease);
wrong('rate_limit_concurrency 10 delay=all;', 'delay=all', qr/unknown parameter "delay=all" in "rate_limit_concurrency": it takes name=/);
wrong('rate_limit 10r/s burst=20 delay=all delay=2;', 'delay=2', qr/duplicate parameter "delay=2" in "rate_limit": keep one/);

accepts("$redis rate_limit_key \$arg_k; $location $_ } }", $_) for (
    'rate_limit 10r/s burst=20 delay=all;',
    'rate_limit 10r/s burst=20 delay=20;',
    'rate_limit 10r/s burst=1 delay=1;',
    'rate_limit 10r/s burst=$arg_b delay=1000;',
    'rate_limit $arg_r burst=20 delay=3;',
    'rate_limit_mode check_charge; rate_limit 10r/s burst=20 delay=3 store=main;',
    'rate_limit 10r/s burst=20 delay=3 mode=charge_refund store=$arg_s phase=precontent;',
    'rate_limit 10r/s burst=20 delay=all; rate_limit 10r/s mode=check_charge;',
);

done;
