# A window that Redis holds with an end of a wrong clock is opened anew by the next charge, also where memory knows it as open. One
# without its end gets one, and what increments have left in it counts: no key counts on for ever.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = $shards->all;
my $proxy   = RateLimit::Proxy->start(to => $primary->port);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, [], 'ok']) });
my $server  = 'rate_limit_key $http_x_key; rate_limit 50r/h store=main; location / { }
    location /slow { proxy_pass http://' . $backend->address . '; }';
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$proxy, $replica], always_checks()),
    server => $server,
);
my $other = RateLimit::Nginx->start(http => $shards->block('main'), server => $server);

sub get ($key) { return $nginx->get('/x', 'X-Key' => $key) }
sub key ($name) { return "rl:default/3600:$name" }
sub has_an_end ($name) {
    my $reset = $primary->stored($name)->{reset};
    return $reset && about($reset, 1000 * (now + 3600), 5000);
}

# The key goes while a request runs, and the connection between the increment that makes it anew and its repair.
sub cut_off ($name) {
    let_connections_age();
    my $http = $nginx->reach($backend, '/slow', 'X-Key' => $name);
    $primary->cmd('DEL', key($name));
    $proxy->stall('answers');
    $backend->release('gate');
    is $http->response->status, 200, 'a request ends after its window was deleted';
    wait_until { $primary->stored($name)->{used} } what => 'the increment';
    $proxy->drop;
    $proxy->flow;
    $nginx->wait_log(qr/in doubt/);
    wait_until { get('other'); $primary->stored('other')->{used} } what => 'the primary to take charges again';
    return is_deeply $primary->stored($name), {used => 1}, 'a count without an end is left';
}
sub by_hand ($name) {
    $primary->cmd('DEL', key($name));
    return $primary->cmd('HSET', key($name), used => 10);
}
sub wrong_clock ($name) {
    return $primary->cmd('HSET', key($name), used => 10, reset => (time + 99_999) . '000');
}

my %damage = ('cut-off' => \&cut_off, 'by-hand' => \&by_hand, 'wrong-clock' => \&wrong_clock);
my %left   = ('cut-off' => 1, 'by-hand' => 10, 'wrong-clock' => 0);
for my $name (sort keys %damage) {
    is_deeply statuses(map { get($name) } 1 .. 3), {200 => 3}, "$name: a window";
    wait_until { $primary->used($name) == 3 } what => 'its charges';
    $damage{$name}->($name);
    $shards->wait_synced;
    is get($name)->status, 200, 'a request after that';
    wait_until { has_an_end($name) } what => "the end of $name, a period ahead";
    is $primary->stored($name)->{used}, $left{$name} + 1, 'opens the window anew';
    ok about($primary->cmd('PTTL', key($name)), 3_601_000, 5000), 'and it expires';
    $shards->wait_synced;
    my $seen = limits($other->get('/x', 'X-Key' => $name));
    is $seen->{used}, $left{$name} + 2, 'another machine sees it';
    ok about($seen->{reset}, now + 3600, 5), 'with its end';
    wait_until { $primary->stored($name)->{used} == $left{$name} + 2 } what => 'the charge of the other machine';
}

done;
