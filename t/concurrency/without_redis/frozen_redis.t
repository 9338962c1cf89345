# Redis freezes while a machine gives slots back: what it had sent may be done late, or not at all. No slot is lost, and none is there twice.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $proxy, 'check_timeout 2s; connect_timeout 2s;'),
        server => 'location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;
sub held () { return [sort map { /^(\d+) / } values %{$redis->hash('rl:concurrency/n:a')}] }

for my $round (1 .. 3) {
    my @open = map { $nginx[0]->reach($backend, '/slow?k=a') } 1 .. 4;
    is $nginx[1]->get('/?k=a')->status, 429, 'all slots are held';
    $redis->freeze;
    my $asked = $proxy->relayed('questions');
    $backend->release('gate');
    is $_->response->status, 200, 'requests end meanwhile' for @open;
    wait_until { $proxy->relayed('questions') > $asked } what => 'slots to be given back to the frozen server';
    $redis->thaw;

    my @all;
    wait_until {
        my $before = $backend->requests;
        my $http   = $nginx[1]->begin('/slow?k=a');
        wait_until { $backend->requests > $before || !$http->quiet(0.001) } what => 'a request';
        push @all, $http if $backend->requests > $before;
        @all == 4
    } timeout => 20, what => 'all four slots on the other machine';
    is $_->get('/?k=a')->status, 429, 'and no more' for @nginx;
    $backend->release('gate');
    is $_->response->status, 200 for @all;
    wait_until { !grep { $_ } @{held()} } what => 'all to go back';
    let_pass(0.06);    # a machine that was told that the limit is reached asks again
}

done;
