# A window that is deleted while two machines count on it: the increments that make the key anew belong to the window that the
# other machine's script opens. No more pass than the limit says, and all of them are stored.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @nginx = map {
    RateLimit::Nginx->start(
        workers => 2,
        http    => redis_block('main', $redis),
        server  => 'rate_limit_key $http_x_key; location / { rate_limit 100r/h store=main mode=charge_refund; }',
    )
} 1, 2;
my (@over, @missing);
for my $key (1 .. 40) {
    $nginx[0]->get('/x', 'X-Key' => $key) for 1, 2;    # a charge of this machine stays: it increments from now on
    $redis->cmd('DEL', "rl:default/3600:$key");
    my @responses = parallel(port => [map { $_->port } @nginx], connections => 16, requests => 200, headers => ['X-Key' => $key], uri => '/x');
    my $admitted = statuses(@responses)->{200};
    push @over,    "$key: $admitted" if $admitted > 100;
    push @missing, "$key: $admitted" if $redis->used($key) < $admitted;
}
is_deeply \@over,    [], 'never over the limit';
is_deeply \@missing, [], 'nor is anything lost';

done;
