# Our charges and checks give what the published algorithm gives (docs/design.md states it), over random sequences.
#
# The published side is a model in memory: two values for a client, count and end of window in whole seconds.
# Ours is lua/charge.lua and HMGET in Redis, with reset = (end + 1) * 1000. Times are arguments, in steps that
# often meet the edges of a window; periods are a minute and more, so that Redis, whose expiry goes by the
# real clock, drops nothing during the run. TEST_SEED repeats a run.

use RateLimit::Test;

my $seed = $ENV{TEST_SEED} // 20_210_405;
srand $seed;
note "TEST_SEED=$seed";

my $sequences = 4000;
my $steps     = 12;
my $batch     = 500;

my $redis  = RateLimit::Redis->start;
my $charge = $redis->script(project_file('lua/charge.lua'));

sub published_charge ($client, $cost, $now, $end) {
    if (!defined $client->{end} || $client->{end} < $now) {
        @$client{qw(count end)} = (0, $end);
    }
    $client->{count} += $cost;
    return [@$client{qw(count end)}];
}

sub published_check ($client, $now) {
    return if !defined $client->{count};
    return if !defined $client->{end} || $client->{end} < $now;
    return [@$client{qw(count end)}];
}

# Milliseconds until the next step: often to a millisecond around the window's end.
sub advance ($now, $client, $period) {
    my $kind = int rand 6;
    return 0 if $kind == 0;
    return int rand 1000 if $kind == 1;
    if (defined $client->{end} && $kind <= 4) {
        my @edges = map { ($_ - 1, $_, $_ + 1) } $client->{end} * 1000, ($client->{end} + 1) * 1000;
        my $to = $edges[rand @edges];
        return $to - $now if $to >= $now;
    }
    return int rand 2 * $period * 1000;
}

sub check_ours ($answer, $now) {
    my ($used, $reset) = @$answer;
    return defined $reset && $now < $reset ? [$used, $reset] : undef;
}

my (@wrong, %seen);
my $number = 0;
while ($number < $sequences) {
    my (@commands, @expected);
    for (1 .. $batch) {
        my $key    = 'k' . $number++;
        my $period = 60 + int rand 3541;
        my $now    = 1_700_000_000_000 + int rand 1_000_000_000;
        my %client;
        for my $step (1 .. $steps) {
            $now += advance($now, \%client, $period);
            my $second = int($now / 1000);
            my $edge = defined $client{end} ? $now - ($client{end} + 1) * 1000 : '';
            $seen{"edge $edge"}++ if $edge =~ /^(?:-1|0|1|-1000)$/;
            if (rand() < 0.5) {
                my $cost = 1 + int rand(rand() < 0.1 ? 1_000_000_000 : 5);
                my $end  = $second + $period;
                my $ours = ($end + 1) * 1000;
                push @commands, ['EVALSHA', $charge, 1, $key, $cost, $now, $ours, $ours + 60_000];
                my $result = published_charge(\%client, $cost, $second, $end);
                push @expected, ["$key step $step: charge $cost at $now", undef, $result];
                $seen{charge}++;
            } else {
                push @commands, ['HMGET', $key, 'used', 'reset'];
                my $result = published_check(\%client, $second);
                push @expected, ["$key step $step: check at $now", $now, $result];
                $seen{$result ? 'open' : 'none'}++;
            }
        }
    }
    my @answers = $redis->pipeline(@commands);
    for my $i (0 .. $#answers) {
        my ($name, $checked_at, $published) = @{$expected[$i]};
        my $ours = defined $checked_at ? check_ours($answers[$i], $checked_at) : $answers[$i];
        my $got  = !defined $ours ? 'none' : ref $ours eq 'ARRAY' ? "@$ours" : "error $ours";
        my $want = $published ? join ' ', $published->[0], ($published->[1] + 1) * 1000 : 'none';
        push @wrong, "$name: $got, published: $want" if $got ne $want;
    }
    $redis->flush;
}

is @wrong, 0, "$sequences sequences of $steps steps agree"
    or diag join "\n", "TEST_SEED=$seed", @wrong[0 .. (@wrong > 10 ? 9 : $#wrong)];
my @places = ('charge', 'open', 'none', 'edge -1000', 'edge -1', 'edge 0', 'edge 1');
cmp_ok $seen{$_} // 0, '>', 400, "met: $_" for @places;
note join ', ', map { "$_: $seen{$_}" } sort keys %seen;

done;
