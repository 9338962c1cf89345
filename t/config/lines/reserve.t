# reserve= goes with modes that charge before the request; elsewhere it is refused, with their names.

use RateLimit::Test;

my $redis    = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
my $location = 'server { listen unix:%%DIR%%/socket; location / {';
my $remedy   = qr/"reserve=" is charged before the request, and "mode=check_charge" charges after it: write "mode=charge_refund" or "mode=lease", or remove "reserve=" in /;
for my $line ('rate_limit 10r/s reserve=5;', 'rate_limit 10r/s mode=check_charge reserve=$arg_r;', 'rate_limit_mode check_charge; rate_limit 10r/s store=main reserve=5;') {
    refuses("$redis rate_limit_key \$arg_k; $location $line } }", 'reserve=', $remedy, $line);
}
refuses('rate_limit_concurrency 5 reserve=1;', 'rate_limit_concurrency 5 reserve=1', qr/unknown parameter "reserve=1" in "rate_limit_concurrency"/);
accepts("$redis rate_limit_key \$arg_k; $location $_ } }", $_) for (
    'rate_limit 10r/s mode=charge_refund reserve=5;',
    'rate_limit 10r/s mode=lease reserve=$arg_r cost=$upstream_http_x_cost;',
    'rate_limit_mode charge_refund; rate_limit 10r/s reserve=$content_length/4+$arg_max store=main;',
    'rate_limit_mode lease; rate_limit 10r/s window=clock reserve=0;',
    'rate_limit 10r/s burst=20 reserve=5;',
    'rate_limit_mode check_charge; rate_limit 10r/s burst=$arg_b reserve=5 store=main;',
);

done;
