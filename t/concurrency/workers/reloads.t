# Requests keep their slots through reloads, one after the other, also where the zone gets another size, and give them back when they end.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $server  = 'location /local { rate_limit_concurrency 6 name=here key=$arg_k; proxy_pass http://%%UP%%; }
    location /redis { rate_limit_concurrency 6 key=$arg_k store=main; proxy_pass http://%%UP%%; }';
my ($nginx, $other) = map {
    RateLimit::Nginx->start(up => $backend, workers => 2, http => redis_block('main', $redis), server => $server)
} 1 .. 2;
sub held () { return join ' ', sort map { /^([1-9]\d*) / } values %{$redis->hash('rl:concurrency/n:a')} }

my %open;
for my $round (1 .. 5) {
    for my $store (qw(local redis)) {
        push @{$open{$store}}, $nginx->reach($backend, "/$store/slow?k=a");
    }
    $nginx->reload;
    is held(), $round, "reload $round: Redis knows what runs";
}
for my $store (qw(local redis)) {
    push @{$open{$store}}, $nginx->reach($backend, "/$store/slow?k=a");
    is $nginx->get("/$store?k=a")->status, 429, "$store: those of five former generations of workers count";
}
is $other->get('/redis?k=a')->status, 429, '... on another machine too';

# With a zone of another size this is another machine, as the one before lives on in the old workers.
$nginx->reload(http => 'rate_limit_zone 3m;' . redis_block('main', $redis));
is $nginx->get('/redis?k=a')->status, 429, 'Redis has the slots of the old zone';
is $nginx->get('/local?k=a')->status, 200, 'a zone of another size starts anew';
$backend->release('gate');
for my $store (qw(local redis)) {
    is_deeply [map { $_->response->status } @{$open{$store}}], [(200) x 6], "$store: all end";
}
wait_until { held() eq '' } what => 'all slots to go back';
for my $machine ($nginx, $other) {
    wait_until { $machine->get('/redis?k=a')->status == 200 } what => 'a slot';
}
wait_until { !$nginx->old_workers } what => 'old workers to leave';
wait_until { held() eq '' } what => 'slots that no request uses to go back';
for my $store (qw(local redis)) {
    my @all = map { $nginx->reach($backend, "/$store/slow?k=a") } 1 .. 6;
    is $nginx->get("/$store?k=a")->status, 429, "$store: six run again, and no more";
    $backend->release('gate');
    is_deeply [map { $_->response->status } @all], [(200) x 6], '... to their end';
}

done;
