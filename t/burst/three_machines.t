# Three machines that take from one bucket as fast as they can: in any time no more pass than the burst and the rate, although the clock of
# one is ten seconds ahead, and another's as much behind; and nobody is kept from what the bucket has.

use RateLimit::Test;
use Time::HiRes ();

my $redis    = RateLimit::Redis->start;
my ($rate, $burst) = (50, 25);
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, http => redis_block('main', $redis),
        server => "keepalive_requests 1000000; rate_limit_key \$http_x_key; rate_limit_store main; location / { rate_limit ${rate}r/s burst=$burst; }
            location /plain { rate_limit 200r/s burst=100 name=plain; }
        location /lease { rate_limit ${rate}r/s burst=$burst name=lease mode=lease; }")
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

# [when it was sent, when it was answered] of one that passed; nothing: it did not.
sub timed ($client, $uri) {
    my $sent = monotonic();
    return $client->get($uri, 'X-Key' => 'a')->status == 200 ? [$sent, monotonic()] : ();
}

# How many more than burst + rate * T; what passed may have been taken at any time while it was waited for.
sub most_over ($burst, $rate, @passed) {
    my $most = 0;
    for my $from (0 .. $#passed) {
        for my $to ($from .. $#passed) {
            my $over = $to - $from + 1 - $burst - $rate * ($passed[$to][1] - $passed[$from][0]);
            $most = $over if $over > $most;
        }
    }
    return $most;
}

for my $uri ('/x', '/lease') {
    my @clients = map { $_->http } @machines;
    my @passed;
    my %of;
    my $end = Time::HiRes::time() + 3;
    while (Time::HiRes::time() < $end) {
        for my $at (0 .. $#clients) {
            my @one = timed($clients[$at], $uri) or next;
            push @passed, @one;
            $of{$at}++;
        }
    }
    my $most = most_over($burst, $rate, @passed);
    cmp_ok $most, '<', 1e-6, "$uri: " . @passed . ' requests are never more than burst and rate in any time';
    my $time = $passed[-1][0] - $passed[0][1];
    cmp_ok scalar(@passed), '>=', 0.8 * ($burst + $rate * $time), '... and nearly as many';
    is scalar(keys %of), 3, '... of all machines';
}

# With pauses in which the bucket fills, so that plain commands take from it, until it is empty again. Each machine is asked alone at times,
# while others have taken what it knows to be there.
$redis->forget_calls;
my @clients = map { $_->http } @machines;
my @passed;
for my $round (1 .. 12) {
    my @order = $round % 3 ? @clients : ($clients[0]) x 3;
    for (my $refused = 0; $refused < 15;) {
        for my $client (@order) {
            my @one = timed($client, '/plain');
            push @passed, @one;
            $refused += !@one;
        }
    }
    my $goal = monotonic() + ($round % 2 ? 0.2 : 0.6);
    wait_until { monotonic() >= $goal } what => 'the bucket to fill';
}
cmp_ok most_over(100, 200, @passed), '<', 1e-6, 'plain commands: ' . @passed . ' requests are never more than burst and rate in any time';
cmp_ok scalar(@passed), '>=', 0.8 * (100 + 6 * 100 + 5 * 40), '... and nearly as many';
cmp_ok $redis->calls('bitfield'), '>=', 200, '... of which plain commands took many';

# After Retry-After the same request passes, on any of them.
my @refused;
for my $key ('b', 'c') {
    my ($last) = grep { $_->status == 429 } map { $machines[$_ % 3]->get('/x', 'X-Key' => $key) } 0 .. 200;
    push @refused, [$key, monotonic() + limits($last)->{retry_after}];
}
for (@refused) {
    my ($key, $at) = @$_;
    wait_until { monotonic() >= $at } what => 'Retry-After';
    is_deeply [map { $_->get('/x', 'X-Key' => $key)->status } @machines], [200, 200, 200], "$key passes on all machines";
}

done;
