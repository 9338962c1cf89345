# charge_refund in Redis is exact over machines: of 2,600 requests over 200 connections to two nginx with two workers
# each, against 2,000, exactly 2,000 pass, and Redis holds 2,000. Also where many are exempt and given back.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my @nginx  = map {
    RateLimit::Nginx->start(
        workers => 2,
        http    => $shards->block('main'),
        server  => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_mode charge_refund;
            location / { rate_limit 2000r/h; } location /few { rate_limit 200r/h name=few; }',
    )
} 1, 2;
my ($primary, $replica) = ($shards->primary, $shards->replica);
my %seen;
$seen{$_}++ for storm(\@nginx, connections => 100, requests => 1300, uri => '/x', headers => ['X-Key' => 'k']);
is_deeply \%seen, {200 => 2000, 429 => 600}, 'exactly as many as the limit says';
is $primary->used('k'), 2000, 'and no more is stored';
is $replica->calls('hmget'), 0, 'replicas are not asked';

my $etag = $nginx[0]->get('/few', 'X-Key' => 'other')->header('ETag');
my @mixed = map { my $n = $_; ['/few', 'X-Key' => 'f', $n % 2 ? ('If-None-Match' => $etag) : ()] } 1 .. 600;
my $statuses = statuses($nginx[0]->parallel(connections => 20, requests => \@mixed));
cmp_ok $statuses->{304}, '>', 100, 'many are exempt';
$_->stop for @nginx;
is $primary->used('f', 'few/3600'), $statuses->{200}, 'what was exempt was given back';
cmp_ok $statuses->{200}, '<=', 200, 'and never one too many passed';
cmp_ok $statuses->{200}, '>=', 180, 'nor many too few';

done;
