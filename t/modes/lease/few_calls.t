# lease, auto, on two machines of two workers each: hardly a request reaches Redis, no limit is passed, hardly anything of
# it is left while requests are rejected, and a slow machine and a busy one do not starve each other. Counts, not times.
# nightly

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

# So many requests to each machine, as fast as it goes.
sub flood ($key, @requests) {
    my @floods = map { RateLimit::Flood->start(port => $nginx[$_]->port, uris($key), requests => $requests[$_]) } 0 .. $#requests;
    $_->counts for @floods;
    return;
}

# Until both machines reject a window that Redis says is used up: no token is left anywhere. Requests come at a rate, so that the log tells
# how many a machine that stood still was not sent.
my %rates;    # by key, since when and of which machine how many a second
sub use_up ($key, @how) {
    $rates{$key} = {since => now(), each => [map { ($_->{connections} // 16) * $_->{rate} } @how]};
    my $rejects = sub ($nginx) { $nginx->get("/x?k=$key")->status == 429 };
    my @floods  = map { RateLimit::Flood->start(port => $nginx[$_]->port, uris($key), requests => PLENTY, %{$how[$_]}) } 0, 1;
    wait_until { $primary->used($key) >= LIMIT && $rejects->($nginx[0]) && $rejects->($nginx[1]) } timeout => 180, what => "$key to be used up";
    $_->stop for @floods;
    return;
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
flood('even', (0.45 * LIMIT) x 2);
use_up('even', ({rate => 125}) x 2);
my $calls = $primary->script_calls;
flood('uneven', 0.9 * LIMIT);
use_up('uneven', {rate => 125}, {connections => 1, rate => 40});
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

# How many may still pass when the first is rejected: hardly any, and what machines would have spent that got no processor for a while.
sub most_left ($key, $at) {
    my ($since, $each) = @{$rates{$key}}{qw(since each)};
    my ($begun) = sort { $a <=> $b } grep { $_ >= $since } map { $_->[1] } all_of($key);
    my @behind = map {
        my $sent = grep { $_->[1] >= $begun && $_->[1] <= $at } @{$seen[$_]{$key}};
        max(0, $each->[$_] * ($at - $begun) - $sent)
    } 0 .. $#seen;
    diag "$key: requests that machines are behind: @behind";
    return LIMIT * 0.005 + sum0 @behind;
}

my @off = grep { $primary->used($_) != passes(all_of($_)) } @keys;
is_deeply \@off, [], 'when the machines have left, Redis holds what has passed';
for my $key (qw(even uneven)) {
    is passes(all_of($key)), LIMIT, "$key: as many pass as the limit says, never one more";
    is $primary->used($key), LIMIT, "$key: and Redis holds as many";
    my $at = first_rejection(all_of($key));
    my @late = map { passes(grep { $_->[1] > $at } @{$_->{$key}}) } @seen;
    cmp_ok $late[0] + $late[1], '<=', most_left($key, $at), "$key: hardly any is left when the first is rejected";
    diag "$key: passed on the two machines: ", join(' + ', map { passes(@{$_->{$key}}) } @seen),
        '; after the first rejection: ', join(' + ', @late), ': ', percent($late[0] + $late[1], LIMIT);
}
cmp_ok $calls, '<=', LIMIT / 500, 'in a whole window, at most 0.2% of what passes reaches Redis';
diag 'even: calls of Redis: ', percent($calls, LIMIT);

my ($busy, $slow) = map { $_->{uneven} } @seen;
my $at = first_rejection(@$slow);
my $left = passes(grep { $_->[1] > $at } @$busy, @$slow);
cmp_ok $left, '<=', most_left('uneven', $at), 'the slow machine is not rejected before the limit is used up';
cmp_ok passes(grep { $_->[1] < $at } @$slow), '>', 0, 'and gets its share';
cmp_ok passes(@$busy), '>', 0.995 * (LIMIT - passes(@$slow)), 'the busy one gets the rest';
diag sprintf 'uneven: the slow machine sees %d pass of %d, the busy one gets %s of the rest', passes(@$slow),
    scalar @$slow, percent(passes(@$busy), LIMIT - passes(@$slow));

done;
