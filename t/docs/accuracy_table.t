# docs/accuracy.md, "What each algorithm admits": a client that takes all it can get has from windows and buckets what the table says in its worst period and at
# one instant, and no more: in the store `local`, and in Redis in `charge_refund` and `lease`.

use RateLimit::Test;

my ($table) = project_file('docs/accuracy.md') =~ /^## What each algorithm admits\n(.*?)^## /ms;
my @buckets = map { /^\| a bucket, `(\d+)r\/m burst=(\d+)` \| (\d+) \| (\d+) \|$/ ? [$1, $2, $3, $4] : () } split /\n/, $table;
my ($of_windows) = $table =~ /^\| a window \(`100r\/m`\).*?\| (\d+): all of one window at its end, and of the next at its begin \|/m;
is_deeply [scalar @buckets, $of_windows], [3, 200], 'the table has three buckets, and windows';

# Without the time of Redis its buckets go by the clock of nginx, which stands still at each instant of this test.
my %store = (local => '', refund => 'store=main mode=charge_refund', lease => 'store=main mode=lease');
my $redis = RateLimit::Redis->start(timeless => 1);
my $nginx = RateLimit::Nginx->start(
    clock  => 1, log_level => 'error', http => timeless_block('main', $redis) . 'keepalive_requests 1000000; rate_limit_key all;',
    server => join '', map {
        my $store = $_;
        (map { "location /$store-$_ { rate_limit 100r/m window=$_ name=$store-$_ $store{$store}; }" } qw(first clock)),
            map { my ($rate, $burst) = @$_;
                "location /$store-$rate-$burst { rate_limit ${rate}r/m burst=$burst name=$store-$rate-$burst $store{$store}; }" } @buckets
    } keys %store,
);
my $client = $nginx->http;
my $begin  = 1_800_000_000;    # a minute of the clock begins

# Returns how many requests pass so many seconds after the begin, and stops at $most.
my sub taken ($uri, $after, $most = 1000) {
    $nginx->stand_at($begin + $after);
    my $passed = 0;
    $passed++ while $passed < $most && $client->get($uri)->status == 200;
    return $passed;
}

# The most in any time from one instant to another, so many seconds later.
my sub most_in ($seconds, %taken) {
    return max(map { my $from = $_; sum0(map { $_ >= $from && $_ <= $from + $seconds ? $taken{$_} : () } keys %taken) } keys %taken);
}

# Full, then as fast as it fills; full again after a pause, late in a minute.
my @instants = ((map { 6 * $_ } 0 .. 12), 170, map { 170 + 6 * $_ } 1 .. 10);
for my $store (sort keys %store) {
    for (@buckets) {
        my ($rate, $burst, $in_period, $at_once) = @$_;
        my %taken = map { $_ => taken("/$store-$rate-$burst", $_) } @instants;
        is most_in(60, %taken), $in_period, "$store, ${rate}r/m burst=$burst: the most in a period";
        is most_in(0,  %taken), $at_once,   '... and at one instant';
    }
    my %first = (0 => taken("/$store-first", 0, 1), map { $_ => taken("/$store-first", $_) } 59.999, 60);
    is most_in(60, %first), $of_windows, "$store, windows from the first request: the most in a period";
    # The key of a window that has one millisecond left is gone after a second of real time, which does not stand still. Each round has another
    # window.
    my ($end, %clock) = (-60);
    wait_until {
        $end += 120;
        my $begun   = monotonic();
        my $before  = taken("/$store-clock", $end - 0.001);
        my $in_time = monotonic() - $begun < 0.9;
        %clock = ($end - 0.001 => $before, $end => taken("/$store-clock", $end));
        $in_time
    } what => 'a round in time';
    is most_in(0.0015, %clock), $of_windows, '... and by the clock, at the instant at which one ends';
}

done;
