# Each worker connects to each node of the stores that limits use before the first request; cache manager and loader never do. That
# connection is the only one.

use RateLimit::Test;

my ($primary, $replica, $other, $unused) = map { RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return nil() if $words->[0] eq 'evalsha';
    return hmget(0, undef) if $words->[0] eq 'hmget';
    return fallback($words);
}) } 1 .. 4;
my $nginx = RateLimit::Nginx->start(
    workers => 3, reuseport => 1,
    http => 'proxy_cache_path %%DIR%%/cache keys_zone=pages:1m manager_sleep=10ms loader_sleep=10ms;'
        . redis_block('main', [$primary, $replica])
        . redis_block('spare', $other) . redis_block('unused', $unused),
    server => 'rate_limit_key $http_x_key; location / { rate_limit 100000r/h store=main; add_header X-Pid $pid; }'
        . 'location /spare { rate_limit 1r/h store=spare; }',
);
wait_until { grep({ $_ } $nginx->titled('cache manager process')) == 1 } what => 'the cache manager';
wait_until { $primary->connections + $replica->connections + $other->connections == 9 } what => 'all workers to connect';
is $_->connections, 3, 'one connection of each worker before the first check' for $primary, $replica, $other;

my @requests = (['/x', 'X-Key' => 'k']) x 60;
my %seen;
wait_until {
    $seen{$_->header('X-Pid')}++
        for $nginx->parallel(connections => 60, keepalive => 0, requests => \@requests);
    keys %seen == 3
} what => 'every worker to serve';
$nginx->parallel(connections => 100, requests => 500, uri => '/x', headers => ['X-Key' => 'k']);
wait_until { $primary->connections >= 3 } what => 'the charges';
is $replica->connections, 3, 'one connection of each worker to the replica';
is $primary->connections, 3, 'and to the primary';
is $other->connections,   3, 'and to that of a store that no request needs';
is $unused->connections,  0, 'none to a store that no limit uses';

done;
