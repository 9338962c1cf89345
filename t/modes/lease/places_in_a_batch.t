# lease: requests that come while a batch is on its way take places in it, as long as it has places. Each gets the tokens of
# its place, even if other requests come when the batch is there. A request that finds no place, or costs more than a batch,
# asks for itself.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => reserving((time + 1800) . '123'));
my $nginx = RateLimit::Nginx->start(
    http    => redis_block('main', $redis, timeouts('20s')) . '
        rate_limit_store main; rate_limit_mode lease; rate_limit_lease 100; rate_limit_cost $http_x_cost;
        rate_limit_key $http_x_key; log_format end "$status $http_x_key";',
    server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 1000r/h; }
        location /tight { rate_limit 100r/h name=tight; }
        location /free { rate_limit off; }',
);
my $probe = $nginx->http;

# One worker takes things in order: what was sent before has been seen.
sub seen () { $probe->get('/free') for 1 .. 2; return }

sub start ($key, $cost, $uri = '/x') {
    my $http = $nginx->http;
    seen();
    $http->start_request('GET', $uri, ['X-Key' => $key, 'X-Cost' => $cost]);
    seen();
    return $http;
}

sub leave ($http, $key) { return $nginx->abandon($http, 'ends', "499 $key") }

# What was asked for the key: want and least.
sub asked ($key) {
    $redis->set(turn => $_) for 1, 2;    # it has read what was sent before
    return [map { "$_->[5]/$_->[6]" } grep { $_->[3] =~ /:\Q$key\E$/ } $redis->commands('evalsha')];
}

sub granted (@clients) {
    $redis->set(slow => '')->release('gate');
    my @responses = map { $_->response } @clients;
    $redis->set(slow => 1);
    return [map { [$_->status, limits($_)->{used}] } @responses];
}

is $nginx->get('/x', 'X-Key' => 'warm')->status, 200, 'the connection is there';
$redis->set(slow => 1);

my @five = map { start('five', 20) } 1 .. 5;
is_deeply asked('five'), ['100/20'], 'five that fit into one batch make one call';
is_deeply granted(@five), [map { [200, $_ * 20] } 1 .. 5], 'each gets what it costs, in order';
my $next = start('five', 1);
is_deeply asked('five'), ['100/20', '100/1'], 'then nothing is left, and the next asks for the next batch';
is_deeply granted($next), [[200, 101]], 'which it gets';

@five = map { start('full', 25) } 1 .. 5;
is_deeply asked('full'), ['100/25', '25/25'], 'who finds no place asks for itself, and no more';
is_deeply [map { $_->[0] } @{granted(@five)}], [(200) x 5], 'all pass';

my @large = map { start('large', $_) } 150, 20, 150, 80, 1;
is_deeply asked('large'), [qw(150/150 100/20 150/150 1/1)], 'who costs more than a batch takes no places, nor has any';
is_deeply [map { $_->[0] } @{granted(@large)}], [(200) x 5], 'all pass';

my @clients = map { start('leave', $_) } 60, 40;
leave(pop @clients, 'leave');
push @clients, start('leave', 40);
is_deeply asked('leave'), ['100/60'], 'a client that leaves makes place for the next';
push @clients, start('leave', 1);
is_deeply asked('leave'), ['100/60', '1/1'], 'once';
is_deeply [map { $_->[0] } @{granted(@clients)}], [(200) x 3], 'all that are still there pass';

@clients = map { start('first', $_) } 60, 40;
leave(shift @clients, 'first');
push @clients, start('first', 60);
is_deeply asked('first'), ['100/60'], 'the one that asked can leave, too';
is_deeply [map { $_->[0] } @{granted(@clients)}], [200, 200], 'for the others';

leave(start('all', 60), 'all');
granted();
asked('all');
seen();
is_deeply granted(start('all', 100)), [[200, 100]], 'all leave: the tokens are there for the next';
is_deeply asked('all'), ['100/60'], 'who does not have to ask';

is_deeply granted(start('again', 90)), [[200, 90]], 'ten are at hand';
@clients = map { start('again', $_) } 99, 30;
is_deeply asked('again'), [qw(100/90 100/89 20/20)], 'who asks counts on them';
is $nginx->get('/x', 'X-Key' => 'again', 'X-Cost' => 10)->status, 200, 'another one spends them';
is_deeply [map { $_->[0] } @{granted(@clients)}], [200, 200], 'both pass all the same';
is_deeply asked('again'), [qw(100/90 100/89 20/20 100/9)], 'the second has asked again for what was missing';

# What arrives while the worker is stopped is found by it in one turn.
for my $order ('after', 'before') {
    my $worker = ($nginx->workers)[0];
    @five = map { start($order, 20, '/tight') } 1 .. 5;
    my @others = map { $nginx->http } 1 .. 4;
    seen();
    $redis->set(slow => '');
    kill STOP => $worker;
    $redis->release('gate') if $order eq 'after';
    $_->start_request('GET', '/tight', ['X-Key' => $order, 'X-Cost' => 20]) for @others;
    $redis->release('gate') if $order eq 'before';
    kill CONT => $worker;
    is_deeply [map { $_->response->status } @five], [(200) x 5], "who has a place passes: others come $order the grant";
    is_deeply [map { $_->response->status } @others], [(429) x 4], 'and the others find nothing left';
    $redis->set(slow => 1);
}

done;
