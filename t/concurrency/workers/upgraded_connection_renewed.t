# An upgraded connection keeps its slot for longer than slots last, also in a worker that a reload has left behind, and gives it back when it ends.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(own_time => 1);
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) {
        return [200, [], 'fine'] if ($request->{headers}{upgrade} // '') ne 'echo';
        return "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello";
    }
);
my ($nginx, $other) = map {
    RateLimit::Nginx->start(
        up => $backend, clock => 1, workers => 2, http => redis_block('main', $redis),
        server => 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;
            location /local { rate_limit_concurrency 1 name=here key=$arg_k; proxy_pass http://%%UP%%; }
            location /redis { rate_limit_concurrency 1 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;
sub slots () { return map { [split / /] } values %{$redis->hash('rl:concurrency/n:a')} }
sub deadline () { my ($field) = slots(); return $field ? $field->[1] : 0 }

my %open;
for my $store (qw(local redis)) {
    $open{$store} = $nginx->begin("/$store?k=a", Connection => 'upgrade', Upgrade => 'echo');
    is $open{$store}->response(method => 'HEAD')->status, 101, "$store: upgraded";
}
for my $seconds (16, 32, 48, 64, 80) {
    my $before = deadline();
    $redis->travel($seconds);
    $_->travel("+$seconds") for $nginx, $other;
    wait_until { deadline() > $before + 15_000 } what => 'the slot to be held for longer';
    is_deeply [map { $_->[0] } slots()], [1], "after $seconds seconds one slot is held";
    is $nginx->get("/$_?k=a")->status, 429, "... and taken: $_" for qw(local redis);
    is $other->get('/redis?k=a')->status, 429, '... and another machine has none';
    $nginx->reload if $seconds == 32;
}
ok scalar $nginx->old_workers, 'old workers have them';
for my $store (qw(local redis)) {
    $open{$store}->close;
    wait_until { $nginx->get("/$store?k=a")->status == 200 } what => "$store: its slot is free";
}
wait_until { $other->get('/redis?k=a')->status == 200 } what => 'also for another machine';
wait_until { !grep { $_->[0] } slots() } what => 'none to be held';

done;
