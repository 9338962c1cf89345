# What is planned but not built is refused as "not available yet", with what to use instead.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use RateLimit::Test;
use RateLimit::Config;

for my $value (qw(auto 10)) {
    my $pattern = qr/"rate_limit_lease" is not available yet: remove the line/;
    refuses("rate_limit_lease $value;", "rate_limit_lease $value", $pattern);
    refuses("server { listen unix:%%DIR%%/socket; location / { rate_limit_lease $value; } }", "rate_limit_lease $value",
        $pattern, "rate_limit_lease $value in a location");
}

my $redis = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
refuses("$redis server { listen unix:%%DIR%%/socket; location / { rate_limit_key a;
    rate_limit 1r/s store=main mode=lease; } }", 'rate_limit 1r/s store=main mode=lease',
    qr/the mode of "rate_limit" is not available yet with a Redis store: use "charge_refund", or the store "local" in/);

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
