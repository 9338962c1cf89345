package RateLimit::Soak::Sentinel;

# A RateLimit::Sentinels for a soak, and what can happen to it: rows 9 to 19 of the fault matrix.
#
#   my $topology = RateLimit::Soak::Sentinel->start;
#   $topology->name;  $topology->block($more);  $topology->servers;
#   $topology->primaries;                      # those that have the keys
#   $topology->stored('x/86400', @keys);       # how much is used of each, where it belongs now
#   $topology->kinds;  $topology->fault($kind, $ledger, sub { ... });   # those of RateLimit::Soak::Servers, and its own
#   $topology->heal;                           # waits until all servers have all that is stored
#
# Losses that are allowed are Redis's doing. A former primary executes what workers send until the sentinels have named its successor, and
# until they know, which is soon: that time is bounded, and what comes in it is not.

use v5.36;

use parent 'RateLimit::Soak::Servers';

use List::Util qw(max);
use RateLimit::Sentinels;
use RateLimit::Soak::Servers qw(TURN one_of killed_a_while stalled);
use RateLimit::Wait;

my %kinds = (
    'primary killed'     => \&primary_killed,
    'primary back soon'  => \&primary_back_soon,
    'primary frozen'     => \&primary_frozen,
    'primary thaws soon' => \&primary_thaws_soon,
    'failover'           => \&failover,
    'two failovers'      => \&two_failovers,
    'stale sentinel'     => \&stale_sentinel,
    'sentinel killed'    => \&sentinel_killed,
    'sentinel frozen'    => \&sentinel_frozen,
    'sentinels down'     => \&sentinels_down,
);

sub start ($class, %) { return bless {set => RateLimit::Sentinels->start}, $class }

sub name ($self)          { return 'Sentinel' }
sub block ($self, $more)  { return $self->{set}->block('main', $more) }
sub servers ($self)       { return $self->{set}->servers }
sub primaries ($self)     { return $self->{set}->primary }
sub replicas ($self)      { return $self->{set}->replicas }
sub faults ($self)        { return %kinds }

sub stored ($self, $window, @keys) { return $self->{set}->primary->used_of($window, @keys) }

# A replica gets nothing in the first second after its synchronization.
sub heal ($self) {
    $self->{set}->wait_known;
    $_->wait_synced for $self->{set}->replicas;
    return;
}

sub primary_killed ($self) {
    my $old = $self->{set}->primary;
    $old->kill;
    $self->{set}->wait_switched($old);
    $self->{recovered}->();
    $old->restart;
    return {lost => TURN, gaps => 1};
}

# It starts again, as a primary without anything, when the sentinels have agreed, and before all workers know.
sub primary_back_soon ($self) {
    my $old = $self->{set}->primary;
    $old->kill;
    $self->{set}->wait_switched($old);
    my ($agreed, $before) = (now, $self->{ledger}->executed_by($old));
    $old->restart;
    return {lost => TURN, anew => 1, $self->left($old, $agreed, $before)};
}

# When it goes on, it executes what lies in its sockets: that is in doubt.
sub primary_frozen ($self) {
    my $old = $self->{set}->primary;
    $old->freeze;
    $self->{set}->wait_switched($old);
    $self->{recovered}->();
    $old->thaw;
    return {lost => TURN, told => 1, gaps => 1};
}

sub primary_thaws_soon ($self) {
    my $old = $self->{set}->primary;
    $old->freeze;
    $self->{set}->wait_switched($old);
    my ($agreed, $before) = (now, $self->{ledger}->executed_by($old));
    $old->thaw;
    return {lost => TURN, $self->left($old, $agreed, $before)};
}

# The sentinels have promoted the new primary some time before they agree, and do not say when: so all counts that the former one has
# taken from the beginning.
sub failover ($self) {
    my $old    = $self->{set}->primary;
    my $before = $self->{ledger}->executed_by($old);
    $self->{set}->failover;
    return {lost => 0, errors => 0, $self->left($old, now, $before)};
}

sub two_failovers ($self) {
    my ($one, $other) = map { $self->failover } 1, 2;
    my %former = map { $_ => $one->{former}{$_} + $other->{former}{$_} } keys %{$one->{former}};
    return {%$one, former => \%former, late => max($one->{late}, $other->{late})};
}

sub stale_sentinel ($self) {
    my $stale = one_of($self->{set}->sentinels);
    $stale->freeze;
    my $done = $self->failover;
    $stale->thaw;
    return $done;
}

# Charges that a former primary has taken, until it follows the new one.
sub left ($self, $old, $agreed, $before) {
    wait_until { $old->role eq 'slave' } timeout => 30, what => 'the former primary to follow';
    return (gaps => 1, late => $self->{ledger}->last_write($old) - $agreed, former => $self->taken_since($old, $before));
}

sub sentinel_killed ($self) { return killed_a_while(one_of($self->{set}->sentinels)) }
sub sentinel_frozen ($self) { return stalled(one_of($self->{set}->sentinels), 0.5 + rand 2) }

sub sentinels_down ($self) {
    my @sentinels = $self->{set}->sentinels;
    $_->kill for @sentinels;
    let_pass(1 + rand 1);
    $_->restart for @sentinels;
    return {lost => 0, errors => 0};
}

1;
