# lease while Redis is away: tokens at hand are spent, then rate_limit_on_error decides, and what it lets in is charged when
# Redis is back. A batch that comes too late for the requests that waited is kept for the next ones; one
# whose connection broke is asked for again, under its number.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my $reset = (time + 1800) . '000';
my %script = (10 => 'reserve', 15 => 'reserve', 8 => 'charge', 9 => 'refund');
my %used;
my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my $name = $words->[0] eq 'evalsha' ? $script{@$words} // '' : $words->[0];
    my $key  = $words->[$name eq 'hincrby' ? 1 : 3] // '';
    $used{$key} //= 0;
    return integer($used{$key} += $words->[3]) if $name eq 'hincrby';
    return array(integer($used{$key} += $words->[4]), integer($reset)) if $name eq 'charge';
    return fallback($words) if $name ne 'reserve';
    my $answer = array(integer($words->[5]), integer($used{$key} += $words->[5]), integer($reset));
    return $key =~ /held/ && $conn->state('slow') ? $conn->hold('gate', $answer) : $answer;
});
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) { return $conn->hold('backend', [200, [], 'ok']) });
my $nginx = RateLimit::Nginx->start(
    http    => redis_block('away', $proxy, timeouts('20s'))
        . redis_block('hasty', $fake, 'check_timeout 300ms; charge_timeout 20s; connect_timeout 5s;') . '
        rate_limit_mode lease; rate_limit_lease 10; rate_limit_key $http_x_key; rate_limit_cost $http_x_cost;
        add_header X-Outcome $rate_limit_status always; add_header X-Time $rate_limit_store_time always;',
    server => '
        location /allow { rate_limit 100r/h name=allow store=away; }
        location /deny  { rate_limit 100r/h name=deny store=away; rate_limit_on_error deny; }
        location /local { rate_limit 12r/h name=local store=away; rate_limit_on_error local; }
        location / { rate_limit 100r/h store=hasty; }
        location /up { rate_limit 100r/h store=hasty; proxy_pass http://' . $backend->address . '; }
        location /refuse { rate_limit 100r/h store=hasty; rate_limit_on_error deny; }',
);

sub asks ($uri, $count, $key = 'k') { return outcomes(map { $nginx->get($uri, 'X-Key' => $key) } 1 .. $count) }
sub stored ($name) { return $redis->used('k', "$name/3600") }

# Away.
my @names = qw(allow deny local);
is_deeply asks("/$_", 4), {'200 PASSED' => 4}, "$_: a batch is fetched" for @names;
is_deeply [map { stored($_) } @names], [10, 10, 10], 'of ten';
$proxy->stop;
is_deeply asks("/$_", 6), {'200 PASSED' => 6}, "$_: Redis is away, what is at hand is spent" for @names;
is_deeply asks('/allow', 3), {'200 ERROR_ALLOWED' => 3}, 'then errors allow';
is_deeply asks('/deny',  3), {'503 ERROR_DENIED'  => 3}, 'or deny';
is_deeply asks('/local', 4), {'200 ERROR_LOCAL' => 2, '429 REJECTED' => 2}, 'or the memory of this machine decides';
is $nginx->get('/allow', 'X-Key' => 'k')->header('X-Time'), '0.000', 'nobody waits for what is known to be away';
$proxy->restart;
wait_until { stored('allow') == 14 && stored('local') == 12 } what => 'what errors let in';
is stored('deny'), 10, 'is charged when Redis is back, and what they did not is not';
is_deeply asks('/local', 1), {'429 REJECTED' => 1}, 'the limit stands';
is_deeply asks("/$_", 1), {'200 PASSED' => 1}, "$_: it goes on" for qw(allow deny);
is_deeply [map { stored($_) } @names], [24, 20, 12], 'with the next batches';

# Late.
sub calls ($key, $script) {
    return grep { $_->[3] =~ /:\Q$key\E$/ && ($script{@$_} // '') eq $script } $fake->commands('evalsha');
}

sub asked ($key) { return scalar calls($key, 'reserve') }

sub charged ($key) {
    my $sum = sum0(map { $_->[4] } calls($key, 'charge'));
    $sum += $_->[3] for grep { $_->[1] =~ /:\Q$key\E$/ } $fake->commands('hincrby');
    return $sum;
}

my $probes = 0;
sub usable () {
    return wait_until { outcome($nginx->get('/x', 'X-Key' => 'probe' . ++$probes)) eq '200 PASSED' } what => 'Redis';
}

usable();
$fake->set(slow => 1);
is_deeply asks('/refuse', 1, 'held-late'), {'503 ERROR_DENIED' => 1}, 'a batch does not come in check_timeout';
my $second = $nginx->get('/refuse', 'X-Key' => 'held-late');
is outcome($second), '503 ERROR_DENIED', 'nor for the next request';
cmp_ok $second->header('X-Time'), '<', patience(0.25), 'which does not wait as long again';
$fake->set(slow => '')->release('gate');
usable();
is_deeply asks('/refuse', 10, 'held-late'), {'200 PASSED' => 10}, 'when it comes it is spent';
is asked('held-late'), 1, 'and none is asked for before that';

$fake->set(slow => 1);
my $up = $nginx->reach($backend, '/up', 'X-Key' => 'held-up', 'X-Cost' => 4);
$fake->set(slow => '')->release('gate');
usable();
$backend->release('backend');
is outcome($up->response), '200 ERROR_ALLOWED', 'one that errors let in';
is limits($nginx->get('/x', 'X-Key' => 'held-up', 'X-Cost' => 1))->{used}, 5, 'is charged from tokens that came meanwhile';
is_deeply [asked('held-up'), charged('held-up')], [1, 0], 'not in Redis';

$fake->set(slow => 1);
is_deeply asks('/x', 1, 'held-charge'), {'200 ERROR_ALLOWED' => 1}, 'one that ends before they come';
is charged('held-charge'), 0, 'is not charged at once';
$fake->set(slow => '')->release('gate');
wait_until { charged('held-charge') == 1 } what => 'its charge';
usable();
is limits($nginx->get('/x', 'X-Key' => 'held-charge'))->{used}, 2, 'but then';
is_deeply [asked('held-charge'), charged('held-charge')], [1, 1], 'once';

# Broken.
$fake->set(slow => 1);
my @clients = map { $nginx->begin('/refuse', 'X-Key' => 'held-broken') } 1 .. 3;
$nginx->get('/allow', 'X-Key' => 'k');  # is answered after the three were read: they wait for the same batch
wait_until { asked('held-broken') } what => 'the batch that is lost';
$fake->drop(1);
is_deeply [map { outcome($_->response) } @clients], [('503 ERROR_DENIED') x 3], 'the connection breaks: all hear of it';
$fake->set(slow => '');
usable();
wait_until { asked('held-broken') >= 2 } what => 'the worker to ask what became of it';
is_deeply asks('/refuse', 10, 'held-broken'), {'200 PASSED' => 10}, 'what it was granted is spent';
my @asked = map { [@$_[5, 14]] } calls('held-broken', 'reserve');
is_deeply [map { $_->[1] } @asked[0, 1]], [($asked[0][1]) x 2], '... under the same number';
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;
