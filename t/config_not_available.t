# What is planned but not built is refused as "not available yet", with what to use instead.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use RateLimit::Test;
use RateLimit::Config;

my @directives = (
    ['rate_limit_store local',         qr/"local" in "rate_limit_store" is not available yet: name a "rate_limit_redis" block/],
    ['rate_limit 1r/s store=local',    qr/"local" in "rate_limit" is not available yet: name a "rate_limit_redis" block/],
    ['rate_limit_mode charge_refund',  qr/"charge_refund" in "rate_limit_mode" is not available yet: use "check_charge"/],
    ['rate_limit_mode lease',          qr/"lease" in "rate_limit_mode" is not available yet: use "check_charge"/],
    ['rate_limit 1r/s mode=charge_refund', qr/"charge_refund" in "rate_limit" is not available yet: use "check_charge"/],
    ['rate_limit 1r/s mode=lease',     qr/"lease" in "rate_limit" is not available yet: use "check_charge"/],
    ['rate_limit_on_error local',      qr/"local" in "rate_limit_on_error" is not available yet: use "allow" or "deny"/],
    ['rate_limit_lease auto',          qr/"rate_limit_lease" is not available yet: remove the line/],
    ['rate_limit_lease 10',            qr/"rate_limit_lease" is not available yet: remove the line/],
    ['rate_limit_zone 10m',            qr/"rate_limit_zone" is not available yet: remove the line/],
);
for my $case (@directives) {
    my ($text, $pattern) = @$case;
    refuses("$text;", $text, $pattern);
    refuses("server { listen unix:%%DIR%%/socket; location / { $text; } }", $text, $pattern, "$text in a location")
        if $text !~ /zone/;
}

refuses('server { listen unix:%%DIR%%/socket; location / { rate_limit_key a; rate_limit 1r/s; } }', 'rate_limit 1r/s',
    qr/"rate_limit" without a Redis store: the "local" store is not available yet, name a "rate_limit_redis" block with "rate_limit_store"/,
    'no store');

my @block = (
    'sentinel 127.0.0.1:1', 'sentinel_username a', 'sentinel_password b', 'cluster 127.0.0.1:1 127.0.0.1:2', 'ssl on', 'ssl off',
    'ssl_trusted_certificate a', 'ssl_certificate a', 'ssl_certificate_key a', 'ssl_name a', 'ssl_verify on',
);
for my $text (@block) {
    my ($directive) = split / /, $text;
    refuses("rate_limit_redis main { $text; }", $text,
        qr/"$directive" in "rate_limit_redis" is not available yet: remove the line/);
}
refuses('rate_limit_redis main { shard a master=m; }', 'shard a',
    qr/"master=m" of shard "a" needs Sentinel, which is not available yet: use primary=HOST:PORT/);

done;
