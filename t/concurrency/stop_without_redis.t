# nginx stops although it cannot give back the slots that it had, with Redis killed and frozen; and a worker leaves that is replaced by
# one with another zone.

use RateLimit::Test;

for my $way (qw(kill freeze)) {
    my $redis   = RateLimit::Redis->start;
    my $backend = RateLimit::Backend->start;
    my $nginx   = RateLimit::Nginx->start(
        up     => $backend,
        http   => redis_block('main', $redis, 'check_timeout 200ms; charge_timeout 1s;'),
        server => 'location / { rate_limit_concurrency 10 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    );
    my @open = map { $nginx->reach($backend, '/slow?k=a') } 1 .. 5;
    $redis->$way;
    $backend->release('gate');
    $_->response for @open;
    my $took = time_until { $nginx->stop(timeout => 60); 1 } what => 'nginx to stop';
    cmp_ok $took, '<', patience(12), "$way: it stops";
}

done;
