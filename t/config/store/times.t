# Times of rate_limit_redis: a number without a unit is of seconds, and a wait of more than ten seconds is hardly meant; each
# is warned about, once.

use RateLimit::Test;

my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key $arg_k; rate_limit 1r/s store=main; }';

sub block ($line) { return "rate_limit_redis main { shard a primary=127.0.0.1:1; $line; } $server" }

for my $directive ('check_timeout', 'charge_timeout', 'connect_timeout') {
    warns(block("$directive $_->[0]"), "$directive $_->[0]",
        qr/"$directive $_->[0]" is $_->[1]; for milliseconds write $_->[0]ms, for seconds $_->[0]s in/, "$directive $_->[0]")
        for ['100', '100 seconds'], ['1', '1 second'], ['5', '5 seconds'];
    accepts_quietly(block("$directive $_"), "$directive $_") for '100ms', '10s', '10000ms', '1s 500ms' =~ s/ //r;
}
for my $directive ('check_timeout', 'connect_timeout') {
    warns(block("$directive $_"), "$directive $_",
        qr/"$directive $_" is long: requests may wait so long for a server that does not answer; write 10s or less/, "$directive $_")
        for '11s', '10001ms', '1m', '1d';
}
accepts_quietly(block("charge_timeout $_"), "charge_timeout $_") for '11s', '1m';

done;
