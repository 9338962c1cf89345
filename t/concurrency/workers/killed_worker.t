# What a killed worker had running does not count any more: its slots are free within a second, here and on other machines, and no more than those.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $server = 'location /local { rate_limit_concurrency 10 name=here key=$arg_k; proxy_pass http://%%UP%%$request_uri&worker=$pid; }
    location /redis { rate_limit_concurrency 10 key=$arg_k store=main; proxy_pass http://%%UP%%$request_uri&worker=$pid; }';
my ($nginx, $other) = map {
    RateLimit::Nginx->start(up => $backend, workers => $_, http => redis_block('main', $redis), server => $server)
} 3, 1;

for my $store (qw(local redis)) {
    $backend->forget;
    my @open = map { $nginx->reach($backend, "/$store/slow?k=a") } 1 .. 10;
    my %runs;
    $runs{$_}++ for map { $_->[1] =~ /worker=(\d+)/ } $backend->requests;
    my ($worker) = sort { $runs{$b} <=> $runs{$a} } keys %runs;
    is $nginx->get("/$store?k=a")->status, 429, "$store: ten run, $runs{$worker} of them in one worker";
    is $other->get('/redis?k=a')->status, 429, 'and no machine has a slot' if $store eq 'redis';

    my $where  = $store eq 'redis' ? $other : $nginx;
    my $killed = monotonic();
    $nginx->kill_worker($worker);
    wait_until { $where->get("/$store?k=a")->status == 200 } what => "$store: its slots";
    my $took = monotonic() - $killed;
    cmp_ok $took, '<', patience(5), sprintf '%s: it took %.2f s from the kill until its slots were free', $store, $took;
    my @rest = map { $where->reach($backend, "/$store/slow?k=a") } 1 .. $runs{$worker};
    is $nginx->get("/$store?k=a")->status, 429, "$store: as many requests run again as it had";
    $backend->release('gate');
    is $_->response->status, 200, "$store: they end" for @rest;
    wait_until { $nginx->get("/$store?k=a")->status == 200 } what => "$store: a slot";
}

done;
