# The running requests of a killed worker do not count any more: their slots are free within a second, here and on other machines, and no more
# slots than those.

use RateLimit::Test;
use List::Util qw(min);

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $server = 'location /local { rate_limit_concurrency 10 name=here key=$arg_k; proxy_pass http://%%UP%%$request_uri&worker=$pid; }
    location /redis { rate_limit_concurrency 10 key=$arg_k store=main; proxy_pass http://%%UP%%$request_uri&worker=$pid; }';
my ($nginx, $other) = map {
    RateLimit::Nginx->start(up => $backend, workers => $_, http => redis_block('main', $redis), server => $server)
} 3, 1;

my (%took, $key);
for my $store ((qw(local redis)) x 3) {
    ++$key;
    $backend->forget;
    my @open = map { $nginx->reach($backend, "/$store/slow?k=$key") } 1 .. 10;
    my %runs;
    $runs{$_}++ for map { $_->[1] =~ /worker=(\d+)/ } $backend->requests;
    my ($worker) = sort { $runs{$b} <=> $runs{$a} } keys %runs;
    is $nginx->get("/$store?k=$key")->status, 429, "$store: ten run, $runs{$worker} of them in one worker";
    is $other->get("/redis?k=$key")->status, 429, 'and no machine has a slot' if $store eq 'redis';

    my $where  = $store eq 'redis' ? $other : $nginx;
    my $killed = monotonic();
    $nginx->kill_worker($worker);
    wait_until { $where->get("/$store?k=$key")->status == 200 } what => "$store: its slots";
    push @{$took{$store}}, monotonic() - $killed;
    my @rest = map { $where->reach($backend, "/$store/slow?k=$key") } 1 .. $runs{$worker};
    is $nginx->get("/$store?k=$key")->status, 429, "$store: as many requests run again as it had";
    $backend->release('gate');
    is $_->response->status, 200, "$store: they end" for @rest;
    eval { $_->response } for @open;
    wait_until { $nginx->get("/$store?k=$key")->status == 200 } what => "$store: a slot";
}
# The quickest of each, for the machine may be busy.
cmp_ok min(@{$took{$_}}), '<', patience(1), "$_: its slots are free within a second: " . join ' ', map { sprintf '%.2f', $_ } @{$took{$_}} for sort keys %took;

done;
