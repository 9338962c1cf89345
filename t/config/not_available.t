# What is planned but not built is refused as "not available yet", with what to use instead.

use RateLimit::Test;

my @block = (
    'sentinel 127.0.0.1:1', 'sentinel_username a', 'sentinel_password b', 'cluster 127.0.0.1:1 127.0.0.1:2',
);
for my $text (@block) {
    my ($directive) = split / /, $text;
    refuses("rate_limit_redis main { $text; }", $text,
        qr/"$directive" in "rate_limit_redis" is not available yet: remove the line/);
}
refuses('rate_limit_redis main { shard a master=m; }', 'shard a',
    qr/"master=m" of shard "a" needs Sentinel, which is not available yet: use primary=HOST:PORT/);

done;
