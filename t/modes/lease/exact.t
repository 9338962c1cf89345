# lease in Redis is exact over machines: of 2,600 requests over 200 connections to two nginx with two workers each, never
# more than 2,000 pass. Where fewer do, the tokens left are at hand, and pass those who ask again: 2,000 in all, and Redis
# holds 2,000. With batches of any size.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my @nginx = map {
    RateLimit::Nginx->start(
        workers => 2,
        http    => $shards->block('main'),
        server  => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_mode lease;
            location / { rate_limit 2000r/h name=auto; }
            location /fixed { rate_limit 2000r/h name=fixed; rate_limit_lease 50; }',
    )
} 1, 2;

for (['/x', 'auto'], ['/fixed', 'fixed']) {
    my ($uri, $name) = @$_;
    my @seen = storm(\@nginx, connections => 100, requests => 1300, uri => $uri, headers => ['X-Key' => 'k']);
    my $passed = grep { $_ == 200 } @seen;
    is_deeply [sort keys %{{map { $_ => 1 } @seen}}], [200, 429], "$name: all are answered";
    cmp_ok $passed, '<=', 2000, "$name: never one over the limit";
    cmp_ok $passed, '>=', 1800, "$name: nor many below";
    diag "$name: $passed passed at once";
    wait_until {
        $passed += grep { $_->get($uri, 'X-Key' => 'k')->status == 200 } @nginx;
        $passed >= 2000
    } timeout => 20, what => "the rest of $name";
    my @more = map { $_->status } map { $_->parallel(connections => 10, requests => 50, uri => $uri,
        headers => ['X-Key' => 'k']) } @nginx;
    is_deeply [$passed, grep { $_ != 429 } @more], [2000], "$name: exactly as many as the limit says";
}
is $replica->calls('hmget'), 0, 'replicas are not asked';
$_->stop for @nginx;
is $primary->used('k', "$_/3600"), 2000, "$_: and no more is stored" for qw(auto fixed);

done;
