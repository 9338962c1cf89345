# lease, auto, on two machines of two workers each: hardly a request reaches Redis, no limit is passed, hardly anything of
# it is left while requests are rejected, and a slow machine and a busy one do not starve each other. Counts, not times.

use RateLimit::Test;

use constant {LIMIT => 100_000, PLENTY => 10_000_000};

my $primary = RateLimit::Redis->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        workers   => 2,
        log_level => 'error',
        http      => redis_block('main', $primary)
            . q(log_format seen '$arg_k $status $msec'; keepalive_requests 100000000;),
        server => 'access_log %%DIR%%/seen seen buffer=256k; location / { rate_limit_key $arg_k; rate_limit '
            . LIMIT . 'r/h store=main mode=lease; }',
    )
} 1, 2;

sub uris (@keys) { return uris => [map { "/x?k=$_" } @keys] }

# Floods on both machines, while the condition does not hold.
sub flood_until ($key, $condition, @how) {
    my @floods =
        map { RateLimit::Flood->start(port => $nginx[$_]->port, uris($key), requests => PLENTY, %{$how[$_]}) } 0, 1;
    wait_until { $condition->() } timeout => 180, what => "what is used of $key";
    $_->stop for @floods;
    return;
}

# Until both machines reject a window that Redis says is used up: no token is left anywhere.
sub use_up ($key, @how) {
    my $rejects = sub ($nginx) { $nginx->get("/x?k=$key")->status == 429 };
    return flood_until($key, sub { $primary->used($key) >= LIMIT && $rejects->($nginx[0]) && $rejects->($nginx[1]) }, @how);
}

sub percent ($part, $whole) { return sprintf '%d of %d, %.3f%%', $part, $whole, 100 * $part / $whole }

my @keys = map { "k$_" } 1 .. 20;
my @steady = map {
    RateLimit::Flood->start(port => $_->port, uris(@keys), requests => 1500 * @keys, connections => 16)
} @nginx;
my ($requests, $passed, $seconds) = (0, 0, 0);
for my $counts (map { $_->counts } @steady) {
    $passed += $counts->{2};
    $requests += $counts->{$_} for 2 .. 5;
    $seconds = $counts->{seconds} if $counts->{seconds} > $seconds;
}
is $passed, 3000 * @keys, 'below the limit all pass';
cmp_ok $primary->script_calls, '<=', $requests / 100, 'at most 1% of them reach Redis, though all begin with small batches';
diag sprintf '%d keys, %.0f requests/s a key; calls of Redis: %s', scalar @keys, $requests / $seconds / @keys,
    percent($primary->script_calls, $requests);

$primary->forget_calls;
flood_until('even', sub { $primary->used('even') >= 0.9 * LIMIT }, {}, {});
# What is left when a machine stands still for a moment is not what is looked at.
use_up('even', ({rate => 125}) x 2);
my $calls = $primary->script_calls;
use_up('uneven', {}, {connections => 1, rate => 40});
$_->stop for @nginx;

# By machine and key, in order: [status, when].
my @seen = map { {} } @nginx;
for my $machine (0, 1) {
    open my $file, '<', $nginx[$machine]->folder . '/seen' or die $!;
    while (<$file>) {
        my ($key, $status, $when) = split;
        push @{$seen[$machine]{$key}}, [$status, $when];
    }
}

sub passes (@of) { return scalar grep { $_->[0] == 200 } @of }
sub first_rejection (@of) { return (sort { $a <=> $b } map { $_->[1] } grep { $_->[0] == 429 } @of)[0] }
sub all_of ($key) { return map { @{$_->{$key}} } @seen }

my @off = grep { $primary->used($_) != passes(all_of($_)) } @keys;
is_deeply \@off, [], 'when the machines have left, Redis holds what has passed';
for my $key (qw(even uneven)) {
    is passes(all_of($key)), LIMIT, "$key: as many pass as the limit says, never one more";
    is $primary->used($key), LIMIT, "$key: and Redis holds as many";
    my $at = first_rejection(all_of($key));
    my @late = map { passes(grep { $_->[1] > $at } @{$_->{$key}}) } @seen;
    # A batch is a twentieth of the limit at most: where a worker gets no processor for a while, it may have one.
    my $most = LIMIT * (patience(1) > 1 ? 0.05 : 0.005);
    cmp_ok $late[0] + $late[1], '<=', $most, "$key: hardly any is left when the first is rejected";
    diag "$key: passed on the two machines: ", join(' + ', map { passes(@{$_->{$key}}) } @seen),
        '; after the first rejection: ', join(' + ', @late), ': ', percent($late[0] + $late[1], LIMIT);
}
cmp_ok $calls, '<=', LIMIT / 500, 'in a whole window, at most 0.2% of what passes reaches Redis';
diag 'even: calls of Redis: ', percent($calls, LIMIT);

my ($busy, $slow) = map { $_->{uneven} } @seen;
my $at = first_rejection(@$slow);
my $left = passes(grep { $_->[1] > $at } @$busy, @$slow);
cmp_ok $left, '<=', LIMIT * 0.005, 'the slow machine is not rejected before the limit is used up';
cmp_ok passes(grep { $_->[1] < $at } @$slow), '>', 0, 'and gets its share';
cmp_ok passes(@$busy), '>', 0.995 * (LIMIT - passes(@$slow)), 'the busy one gets the rest';
diag sprintf 'uneven: the slow machine sees %d pass of %d, the busy one gets %s of the rest', passes(@$slow),
    scalar @$slow, percent(passes(@$busy), LIMIT - passes(@$slow));

done;
