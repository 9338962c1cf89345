# Modes that charge before the request are exact over machines and workers, under load: of two nginx with four workers each exactly as many pass as the limit
# says, and Redis holds as many, also where many are exempt and given back, and where both machines charge by plain increments at once. Of a lease never more
# pass; where fewer do, the tokens left are at hand, and pass those who ask again. Nor do more pass by token buckets. The local store is exact on each, and charges after the request as well.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my @nginx = map {
    RateLimit::Nginx->start(
        workers => 4, reuseport => 1, log_level => 'notice',
        http    => $shards->block('main') . 'rate_limit_key $http_x_key; rate_limit_mode charge_refund; rate_limit_log_level info; keepalive_requests 1000000;
            server { listen 127.0.0.1:%%PORT_1%%; }',
        server  => 'rate_limit_store main; location / { rate_limit 2000r/h; } location /few { rate_limit 200r/h name=few; }
            location /plain { rate_limit 400r/h name=plain; } location /three { rate_limit 401r/h name=three cost=3; }
            location /auto { rate_limit 2000r/h name=auto mode=lease; }
            location /bucket { rate_limit 1r/m burst=400 name=bucket; } location /bucket_lease { rate_limit 1r/m burst=400 name=bucket_lease mode=lease; }
            location /fixed { rate_limit 2000r/h name=fixed mode=lease; rate_limit_lease 50; }
            location /after/ { rate_limit 1000r/h name=after mode=check_charge store=local; proxy_pass http://127.0.0.1:%%PORT_1%%/; }
            location /before/ { rate_limit 1000r/h name=before store=local; proxy_pass http://127.0.0.1:%%PORT_1%%/; }',
    )
} 1, 2;
my @both = (port => [map { $_->port } @nginx], connections => 40);

my %seen;
$seen{$_}++ for storm(\@nginx, connections => 100, requests => 1300, uri => '/x', headers => ['X-Key' => 'k']);
is_deeply \%seen, {200 => 2000, 429 => 600}, 'exactly as many as the limit says';
is $primary->used('k'), 2000, 'and no more is stored';

let_connections_age();
for my $round (1 .. 5) {
    for (['/plain', 400, 'plain', 400], ['/three', 133, 'three', 399]) {
        my ($uri, $passes, $name, $stored) = @$_;
        is_deeply statuses(parallel(@both, requests => 600, uri => $uri, headers => ['X-Key' => $round])), {200 => $passes, 429 => 600 - $passes}, "$uri, round $round: exactly the limit";
        is $primary->used($round, "$name/3600"), $stored, 'is stored';
    }
}
cmp_ok $primary->script_calls, '<', 3000, 'most of it by plain increments';

my $etag = $nginx[0]->get('/few', 'X-Key' => 'other')->header('ETag');
my @mixed = map { my $n = $_; ['/few', 'X-Key' => 'f', $n % 2 ? ('If-None-Match' => $etag) : ()] } 1 .. 600;
my $statuses = statuses($nginx[0]->parallel(connections => 20, requests => \@mixed));
cmp_ok $statuses->{304}, '>', 100, 'many are exempt';
cmp_ok $statuses->{200}, '<=', 200, 'and never one too many passed';
cmp_ok $statuses->{200}, '>=', 180, 'nor many too few';

for my $name ('auto', 'fixed') {
    my @of = (uri => "/$name", headers => ['X-Key' => 'k']);
    my @seen = storm(\@nginx, connections => 100, requests => 1300, @of);
    my $passed = grep { $_ == 200 } @seen;
    is_deeply [sort keys %{{map { $_ => 1 } @seen}}], [200, 429], "$name: all are answered";
    cmp_ok $passed, '<=', 2000, "$name: never one over the limit";
    cmp_ok $passed, '>=', 1800, "$name: nor many below";
    diag "$name: $passed passed at once";
    wait_until { $passed += grep { $_->get("/$name", 'X-Key' => 'k')->status == 200 } @nginx; $passed >= 2000 } timeout => 20, what => "the rest of $name";
    my @more = map { $_->status } map { $_->parallel(connections => 10, requests => 50, @of) } @nginx;
    is_deeply [$passed, grep { $_ != 429 } @more], [2000], "$name: exactly as many as the limit says";
}

for my $name (qw(bucket bucket_lease)) {
    my $statuses = statuses(parallel(@both, requests => 900, uri => "/$name", headers => ['X-Key' => 'k']));
    is_deeply [sort keys %$statuses], [200, 429], "$name: all are answered";
    cmp_ok $statuses->{200}, '<=', 400, "$name: never one over the burst";
    cmp_ok $statuses->{200}, '>=', 320, "$name: nor many below";
}
cmp_ok $primary->calls('bitfield'), '>', 0, 'some by plain commands';

for my $uri ('/after/x', '/before/x') {
    my @seen = $nginx[0]->parallel(connections => 400, requests => 20_000, timeout => 600, uri => $uri, headers => ['X-Key' => 'a']);
    is_deeply statuses(@seen), {200 => 1000, 429 => 19_000}, "$uri: exactly the limit passes";
    my @used = sort { $a <=> $b } map { $_->header('X-RateLimit-Used') } grep { $_->status == 200 } @seen;
    is_deeply \@used, [1 .. 1000], "$uri: each counts once";
    is_deeply [@{limits($nginx[0]->get($uri, 'X-Key' => 'a'))}{qw(used remaining)}], [1000, 0], "$uri: as stored";
    is limits($nginx[0]->get($uri, 'X-Key' => 'b'))->{used}, 1, "$uri: another key has its own";
}

is $replica->calls('hmget'), 0, 'replicas are not asked';
$_->stop for @nginx;
is $primary->used('f', 'few/3600'), $statuses->{200}, 'what was exempt was given back';
is $primary->used('k', "$_/3600"), 2000, "$_: no more is stored" for qw(auto fixed);

done;
