# nginx stops although it cannot give back the slots that it had, with Redis killed and frozen, and where it refuses; and where it was never up.

use RateLimit::Test;

my %ways = (
    killed   => sub ($redis) { $redis->kill },
    frozen   => sub ($redis) { $redis->freeze },
    readonly => sub ($redis) { $redis->cmd('REPLICAOF', '127.0.0.1', 1) },
    noperm   => sub ($redis) { $redis->cmd('ACL', 'SETUSER', 'default', '-hset', '-hdel') },
);
for my $way (sort keys %ways) {
    my $redis   = RateLimit::Redis->start;
    my $backend = RateLimit::Backend->start;
    my $nginx   = RateLimit::Nginx->start(
        up     => $backend,
        http   => redis_block('main', $redis, 'check_timeout 200ms; charge_timeout 1s;'),
        server => 'location / { rate_limit_concurrency 10 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    );
    my @open = map { $nginx->reach($backend, '/slow?k=a') } 1 .. 5;
    $ways{$way}->($redis);
    $backend->release('gate');
    $_->response for @open;
    my $took = time_until { $nginx->stop(timeout => 60); 1 } what => 'nginx to stop';
    cmp_ok $took, '<', patience(12), "$way: it stops";
}

my $away = RateLimit::Redis->start->kill;
my $nginx = RateLimit::Nginx->start(http => redis_block('main', $away, 'check_timeout 200ms;'), server => 'rate_limit_concurrency 10 key=$arg_k store=main;');
is $nginx->get('/x?k=a')->status, 200, 'Redis was never up: a request passes';
my $took = time_until { $nginx->stop(timeout => 60); 1 } what => 'nginx to stop';
cmp_ok $took, '<', patience(12), '... and nginx stops';

done;
