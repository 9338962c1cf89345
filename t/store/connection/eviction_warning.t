# maxmemory with a policy that evicts is warned about, once per primary although every worker sees it.

use RateLimit::Test;

sub redis ($bytes, $policy) {
    return RateLimit::Redis->start(args => ['--maxmemory', $bytes, '--maxmemory-policy', $policy]);
}
my $evicting = redis('100mb', 'allkeys-lru');
my $other    = redis('100mb', 'volatile-ttl');
my $keeping  = redis('100mb', 'noeviction');
my $endless  = redis('0', 'allkeys-lru');

sub block ($name, $first, $second) {
    my ($a, $b) = map { $_->address } $first, $second;
    my $times = 'check_timeout 5s; connect_timeout 5s;';
    return "rate_limit_redis $name { $times shard a primary=$a; shard b primary=$b; }\n";
}
my $nginx  = RateLimit::Nginx->start(
    workers => 3, reuseport => 1,
    http    => block('bad', $evicting, $other) . block('good', $keeping, $endless),
    server  => 'rate_limit_key $http_x_key; add_header X-Pid $pid always; '
        . 'location /bad { rate_limit 9000r/h store=bad; } location /good { rate_limit 9000r/h store=good; }',
);
my %seen;
wait_until {
    for my $store ('bad', 'good') {
        my @requests = map { ["/$store", 'X-Key' => "k$_"] } 1 .. 40;
        $seen{$store . $_->header('X-Pid')}++
            for $nginx->parallel(connections => 40, keepalive => 0, requests => \@requests);
    }
    !grep { $_ < 20 } map { $seen{"bad$_"} // 0, $seen{"good$_"} // 0 } $nginx->workers
} what => 'every worker to have asked every shard';

my $all = qr/\[warn\].*maxmemory/;
for my $redis ($evicting, $other) {
    my $address = quotemeta $redis->address;
    is $nginx->count_log(qr/\[warn\].*primary $address of shard .* of "bad".*noeviction/), 1,
        'one warning for ' . $redis->{args}[-1];
}
is $nginx->count_log($all), 2, 'none for noeviction, none without maxmemory';

done;
