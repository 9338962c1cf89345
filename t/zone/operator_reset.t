# When an operator deletes or lowers a count on the primary, nginx notices it a second after the limit was reached or, later,
# within ten (see t/limiter/zone_test.cpp). It does not take an answer that is older than a charge from here for such an act.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $primary = $shards->primary;
my $reset   = (time + 3000) . '000';
my $fake    = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words;
    if ($command =~ /^(?:eval|hincrby)/) {
        my $answer = $command eq 'hincrby' ? integer(4) : array(integer(4), integer($reset));
        return $conn->state('slow') ? $conn->hold('charge', $answer) : $answer;
    }
    return fallback($words) if $command ne 'hmget';
    return hmget(3, $reset) if $conn->state('used');
    return $conn->hold('gate', hmget(undef, undef));
});
my $replica = RateLimit::FakeRedis->start(handler => reading(3, $reset));
$fake->set(used => 1);
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => $shards->block('main', 'check_timeout 5s;') . redis_block('fake', [$fake, $replica], 'check_timeout 20s;') . '
        rate_limit_key $http_x_key; add_header X-Worker $pid always;',
    server => 'location / { rate_limit 5r/h store=main; }
        location /few { rate_limit 3r/h name=fake store=fake; }
        location /many { rate_limit 90r/h name=fake store=fake; }',
);
my $client = $nginx->http;
my $key    = 'rl:default/3600:a';
sub get () { return $client->get('/x', 'X-Key' => 'a') }

# Asks all the time until it is admitted: that response, and how often the primary was asked.
sub admitted () {
    $primary->forget_calls;
    my $response = wait_until { my $r = get(); $r->status == 200 && $r } what => 'to be admitted';
    return ($response, $primary->calls('hmget'));
}

is_deeply statuses(map { $nginx->get('/few', 'X-Key' => $_) } qw(one two three)), {429 => 3}, 'some at their limits';
$fake->set(used => '');

is_deeply statuses(map { get() } 1 .. 8), {200 => 5, 429 => 3}, 'up to the limit';
wait_until { $primary->used('a') == 5 } what => 'the charges';
$primary->cmd('DEL', $key);
my ($response, $asked) = admitted();
cmp_ok $asked, '<=', 2, 'a deleted window is noticed when the primary is next asked';
is limits($response)->{used}, 1, 'and a new one opens';
is_deeply statuses(map { get() } 1 .. 6), {200 => 4, 429 => 2}, 'for as many requests as ever';
wait_until { $primary->used('a') == 5 } what => 'the charges';

$primary->cmd('HSET', $key, used => 2);
($response, $asked) = admitted();
cmp_ok $asked, '<=', 2, 'so is a lowered count';
is limits($response)->{used}, 3, 'which goes on from there';
is_deeply statuses(map { get() } 1 .. 4), {200 => 2, 429 => 2}, 'for what it leaves';
wait_until { $primary->used('a') == 5 } what => 'the charges';

# Two connections to each worker.
my %to;
wait_until {
    my $http = $nginx->http;
    push @{$to{$http->get('/x', 'X-Key' => 'w')->header('X-Worker')}}, $http;
    keys %to == 2 && !grep { @$_ < 2 } values %to
} what => 'connections to both workers';
my ($one, $beside, $two) = map { @$_[0, 1] } values %to;

for my $case (
    [one   => $beside, 'a charge sent after the question'],
    [two   => $two,    'one answered before the question is'],
) {
    my ($name, $charging, $what) = @$case;
    my @key    = ('X-Key' => $name);
    my $charge = sub {
        is $charging->get('/many', @key)->status, 200, "$name: another request passes under a higher limit";
        wait_until { $fake->writes } what => 'its charge';
    };
    $fake->forget;
    $one->start_request('GET', '/few', [@key]);
    wait_until { $fake->commands('hmget') == 1 } what => 'a question to the primary';
    $charge->();
    is $two->get('/few', @key)->status, 429, 'meanwhile memory rejects';
    $fake->release('gate');
    is limits($one->response)->{used}, 4, "$what is newer than the answer";
    is $one->get('/few', @key)->status, 429, 'and memory keeps it';
}

# Nor is the primary asked to confirm what it has not answered yet.
my @three = ('X-Key' => 'three');
$fake->set(slow => 1);
$fake->forget;
is $two->get('/many', @three)->status, 200, 'three: another request passes under a higher limit';
wait_until { $fake->writes } what => 'its charge';
$fake->forget;    # that request's check may have been asked of the primary, too
shows $one->get('/few', @three), 429, {used => 4}, 'a charge that is not answered counts';
is scalar($fake->commands('hmget')), 0, 'and the primary is not asked';
$fake->release('charge');

done;
