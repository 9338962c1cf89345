package RateLimit::Wait;

# wait_until { CONDITION } timeout => SECONDS, what => TEXT
#
# Polls every 10 ms, returns the condition's first true value, dies when the time is over: 15 s at least, for it is no assertion of
# how long something takes, and a busy machine is no failure.
#
#   time_until { CONDITION } ...      # wait_until, which returns how many seconds that took: for an assertion of it
#   patience(0.5)              # for every upper bound of a time: so many seconds, times TEST_SLOW, a factor for sanitizers and
#                              # slow machines, which stretches every timeout too
#   about($got, $wanted, 5)    # true when they differ by less than patience(5), which a test may have taken meanwhile
#   now                        # the wall clock as nginx reads it; time() lags a few milliseconds behind, and so may be of the second before
#   monotonic                  # a clock that nobody sets
#   let_pass(0.15)             # so many seconds, where nothing tells that something will not happen any more
#   let_connections_age()      # from then on charges may go by plain increments
#   next_second                # until time() says the next one

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use List::Util qw(max);
use Time::HiRes qw(sleep);
use POSIX ();

our @EXPORT = qw(wait_until time_until monotonic now patience about let_pass let_connections_age next_second);

sub monotonic () { return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) }

sub now : prototype() () { return Time::HiRes::time() }

sub patience ($seconds) { return $seconds * ($ENV{TEST_SLOW} || 1) }

sub about ($got, $wanted, $difference) { return abs($got - $wanted) < patience($difference) }

sub wait_until : prototype(&@) {
    my ($condition, %opt) = @_;
    my $limit = patience(max(15, $opt{timeout} // 0));
    my $end   = monotonic() + $limit;
    while (1) {
        my $value = $condition->();
        return $value if $value;
        croak sprintf('waited %g s for %s', $limit, $opt{what} // 'a condition') if monotonic() >= $end;
        sleep 0.01;
    }
}

sub time_until : prototype(&@) {
    my ($condition, @opt) = @_;
    my $begun = monotonic();
    &wait_until($condition, @opt);
    return monotonic() - $begun;
}

sub let_pass ($seconds) {
    my $end = monotonic() + $seconds;
    return wait_until { monotonic() >= $end } timeout => $seconds + 15;
}

# Charges go by script for Charges::newness (src/limiter/charges/charges.h) after a connection was made.
sub let_connections_age () { return let_pass(1.6) }

sub next_second () {
    my $second = time;
    return wait_until { time > $second } what => 'the next second';
}

1;
