package RateLimit::Soak::Sentinel;

# A RateLimit::Sentinels for a soak, and what can happen to it: rows 9 to 19 of the fault matrix.
#
#   my $topology = RateLimit::Soak::Sentinel->start;
#   $topology->name;  $topology->block($more);  $topology->servers;
#   $topology->primaries;                      # those that have the keys
#   $topology->stored('x/86400', @keys);       # what is used of each, where it belongs now
#   $topology->kinds;                          # the faults by name, sorted
#   $topology->fault($kind, $ledger, sub { ... });     # happens, and is over when it returns. The sub waits until no request meets an
#                                              # error. What may come of it, a hash reference:
#       lost => N                              # so many charges of each mode that a server has executed may be missing; without: any number
#       told => 1                              # those that are in doubt, too
#       errors => 0                            # so many requests may meet an error, and those in doubt; without: any number
#       anew => 1                              # a server without any window has been written to
#       late => SECONDS                        # so long after the sentinels have agreed a former primary was written to
#   $topology->heal;                           # waits until all servers have all that is stored
#
# What may be lost is Redis's doing. A server that is killed has executed what it had no time to replicate: one turn of its event loop.
# A former primary executes what workers send until the sentinels have named its successor, and until they know, which is soon: that
# time is bounded, and what comes in it is not.

use v5.36;

use List::Util qw(max);
use RateLimit::Sentinels;
use RateLimit::Wait;

use constant {TURN => 20};

my %kinds = (
    'primary killed'     => \&primary_killed,
    'primary back soon'  => \&primary_back_soon,
    'primary frozen'     => \&primary_frozen,
    'primary thaws soon' => \&primary_thaws_soon,
    'primary stalled'    => \&primary_stalled,
    'failover'           => \&failover,
    'two failovers'      => \&two_failovers,
    'stale sentinel'     => \&stale_sentinel,
    'replica killed'     => \&replica_killed,
    'replica frozen'     => \&replica_frozen,
    'replicas cut off'   => \&replicas_cut_off,
    'sentinel killed'    => \&sentinel_killed,
    'sentinel frozen'    => \&sentinel_frozen,
    'sentinels down'     => \&sentinels_down,
    'connections closed' => \&connections_closed,
    'scripts flushed'    => \&scripts_flushed,
);

sub start ($class, %) { return bless {set => RateLimit::Sentinels->start}, $class }

sub name ($self)          { return 'Sentinel' }
sub block ($self, $more)  { return $self->{set}->block('main', $more) }
sub servers ($self)       { return $self->{set}->servers }
sub primaries ($self)     { return $self->{set}->primary }
sub kinds ($self)         { return sort keys %kinds }

sub stored ($self, $window, @keys) { return $self->{set}->primary->used_of($window, @keys) }

sub fault ($self, $kind, $ledger, $recovered) {
    @$self{qw(ledger recovered)} = ($ledger, $recovered);
    return $kinds{$kind}->($self);
}

# A replica gets nothing in the first second after its synchronization.
sub heal ($self) {
    $self->{set}->wait_known;
    $_->wait_synced for $self->{set}->replicas;
    return;
}

sub one_of (@things) { return $things[rand @things] }

sub primary_killed ($self) {
    my $old = $self->{set}->primary;
    $old->kill;
    $self->{set}->wait_switched($old);
    $self->{recovered}->();
    $old->restart;
    return {lost => TURN};
}

# It starts again, as a primary without anything, when the sentinels have agreed, and before all workers know.
sub primary_back_soon ($self) {
    my $old = $self->{set}->primary;
    $old->kill;
    $self->{set}->wait_switched($old);
    my $agreed = now;
    $old->restart;
    return {anew => 1, late => $self->late($old, $agreed)};
}

# When it goes on, it executes what lies in its sockets: that is in doubt.
sub primary_frozen ($self) {
    my $old = $self->{set}->primary;
    $old->freeze;
    $self->{set}->wait_switched($old);
    $self->{recovered}->();
    $old->thaw;
    return {lost => TURN, told => 1};
}

sub primary_thaws_soon ($self) {
    my $old = $self->{set}->primary;
    $old->freeze;
    $self->{set}->wait_switched($old);
    my $agreed = now;
    $old->thaw;
    return {late => $self->late($old, $agreed)};
}

sub primary_stalled ($self) {
    my $primary = $self->{set}->primary;
    $primary->freeze;
    let_pass(0.2 + rand 0.4);
    $primary->thaw;
    return {lost => 0, errors => 0};
}

sub failover ($self) {
    my $old = $self->{set}->primary;
    $self->{set}->failover;
    return {errors => 0, late => $self->late($old, now)};
}

sub two_failovers ($self) {
    my @done = map { $self->failover } 1, 2;
    return {errors => 0, late => max(map { $_->{late} } @done)};
}

sub stale_sentinel ($self) {
    my $stale = one_of($self->{set}->sentinels);
    $stale->freeze;
    my $done = $self->failover;
    $stale->thaw;
    return $done;
}

sub late ($self, $old, $agreed) {
    wait_until { $old->role eq 'slave' } timeout => 30, what => 'the former primary to follow';
    return $self->{ledger}->last_write($old) - $agreed;
}

sub replica_killed ($self) {
    my $replica = one_of($self->{set}->replicas);
    $replica->kill;
    let_pass(rand 2);
    $replica->restart;
    return {lost => 0, errors => 0};
}

sub replica_frozen ($self) {
    my $replica = one_of($self->{set}->replicas);
    $replica->freeze;
    let_pass(0.5 + rand 2);
    $replica->thaw;
    return {lost => 0, errors => 0};
}

sub replicas_cut_off ($self) {
    $self->{set}->primary->cmd('CLIENT', 'KILL', 'TYPE', 'replica');
    return {lost => 0, errors => 0};
}

sub sentinel_killed ($self) {
    my $sentinel = one_of($self->{set}->sentinels);
    $sentinel->kill;
    let_pass(rand 2);
    $sentinel->restart;
    return {lost => 0, errors => 0};
}

sub sentinel_frozen ($self) {
    my $sentinel = one_of($self->{set}->sentinels);
    $sentinel->freeze;
    let_pass(0.5 + rand 2);
    $sentinel->thaw;
    return {lost => 0, errors => 0};
}

sub sentinels_down ($self) {
    my @sentinels = $self->{set}->sentinels;
    $_->kill for @sentinels;
    let_pass(1 + rand 1);
    $_->restart for @sentinels;
    return {lost => 0, errors => 0};
}

sub connections_closed ($self) {
    close_connections(one_of($self->servers));
    return {lost => 0};
}

sub scripts_flushed ($self) {
    $self->{set}->primary->cmd('SCRIPT', 'FLUSH');
    return {lost => 0, errors => 0};
}

# Those of nginx: not the ones of sentinels, of MONITOR (flag O), and this one.
sub connections_to ($server) {
    my $own = $server->cmd('CLIENT', 'ID');
    my @all = map { {map { split /=/, $_, 2 } split / /} } split /\n/, $server->cmd('CLIENT', 'LIST', 'TYPE', 'normal');
    return map { $_->{id} } grep { $_->{id} != $own && $_->{flags} !~ /O/ && $_->{name} !~ /^sentinel-/ } @all;
}

# Some may have ended meanwhile.
sub close_connections ($server) {
    $server->ask('CLIENT', 'KILL', 'ID', $_) for connections_to($server);
    return;
}

1;
