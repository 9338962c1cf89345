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
            location /lease { rate_limit ${rate}r/s burst=$burst name=lease mode=lease; }")
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

for my $uri ('/x', '/lease') {
    my @clients = map { $_->http } @machines;
    my @passed;    # [when it was sent, when it was answered]
    my %of;
    my $end = Time::HiRes::time() + 3;
    while (Time::HiRes::time() < $end) {
        for my $at (0 .. $#clients) {
            my $sent     = monotonic();
            my $response = $clients[$at]->get($uri, 'X-Key' => 'a');
            next if $response->status != 200;
            push @passed, [$sent, monotonic()];
            $of{$at}++;
        }
    }
    my $most = 0;    # above burst + rate * T; what passed may have been taken at any time while it was waited for
    for my $from (0 .. $#passed) {
        for my $to ($from .. $#passed) {
            my $over = $to - $from + 1 - $burst - $rate * ($passed[$to][1] - $passed[$from][0]);
            $most = $over if $over > $most;
        }
    }
    cmp_ok $most, '<', 1e-6, "$uri: " . @passed . ' requests are never more than burst and rate in any time';
    my $time = $passed[-1][0] - $passed[0][1];
    cmp_ok scalar(@passed), '>=', 0.8 * ($burst + $rate * $time), '... and nearly as many';
    is scalar(keys %of), 3, '... of all machines';
}

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
