package RateLimit::Soak::Sentinel;

# A RateLimit::Sentinels for a soak, and what can happen to it: rows 9 to 19 of the fault matrix.
#
#   my $topology = RateLimit::Soak::Sentinel->start;
#   $topology->name;  $topology->block($more);  $topology->servers;
#   $topology->primaries;                      # those that have the keys
#   $topology->stored('x/86400', @keys);       # what is used of each, where it belongs now
#   $topology->kinds;                          # the faults by name, sorted
#   $topology->fault($kind, $ledger);          # happens, and is over when it returns. {lost => N, moved => [...]}: at most so many charges
#                                              # that a server has executed may be missing since; without: any number
#   $topology->heal;                           # waits until all servers have all that is stored
#
# What is allowed to be lost is a bound of Redis's doing. A server that is killed has executed what it had no time to replicate: one turn of
# its event loop. A former primary executes what workers send until the sentinels have named its successor and they know: as many charges
# as come in that time; that it ends in time is tested by itself, see left_in_time().

use v5.36;

use List::Util qw(first sum0);
use RateLimit::Process;
use RateLimit::Sentinels;
use RateLimit::Wait;
use Test::More ();

use constant {TURN => 20};

my %kinds = (
    'primary killed'     => \&primary_killed,
    'primary frozen'     => \&primary_frozen,
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

sub fault ($self, $kind, $ledger) {
    $self->{ledger} = $ledger;
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
    $old->restart;
    return {lost => TURN};
}

# When it goes on, it executes what lies in its sockets, which is in doubt.
sub primary_frozen ($self) {
    my $old = $self->{set}->primary;
    $old->freeze;
    $self->{set}->wait_switched($old);
    my $agreed = now;
    $old->thaw;
    $self->left_in_time($old, $agreed);
    return {};
}

sub primary_stalled ($self) {
    my $primary = $self->{set}->primary;
    $primary->freeze;
    let_pass(0.2 + rand 0.4);
    $primary->thaw;
    return {lost => 0};
}

sub failover ($self) {
    my $old = $self->{set}->primary;
    $self->{set}->failover;
    $self->left_in_time($old, now);
    return {};
}

sub two_failovers ($self) {
    $self->failover;
    $self->failover;
    return {};
}

sub stale_sentinel ($self) {
    my $stale = one_of($self->{set}->sentinels);
    $stale->freeze;
    $self->failover;
    $stale->thaw;
    return {};
}

# Workers leave a former primary within a second of the sentinels' word.
sub left_in_time ($self, $old, $agreed) {
    wait_until { $old->role eq 'slave' } timeout => 30, what => 'the former primary to follow';
    my $late = $self->{ledger}->last_write($old) - $agreed;
    Test::More::cmp_ok($late, '<', patience(1.5), "the former primary $old->{port} was written to in time") if $late > 1;
    return;
}

sub replica_killed ($self) {
    my $replica = one_of($self->{set}->replicas);
    $replica->kill;
    let_pass(rand 2);
    $replica->restart;
    return {lost => 0};
}

sub replica_frozen ($self) {
    my $replica = one_of($self->{set}->replicas);
    $replica->freeze;
    let_pass(0.5 + rand 2);
    $replica->thaw;
    return {lost => 0};
}

sub replicas_cut_off ($self) {
    $self->{set}->primary->cmd('CLIENT', 'KILL', 'TYPE', 'replica');
    return {lost => 0};
}

sub sentinel_killed ($self) {
    my $sentinel = one_of($self->{set}->sentinels);
    $sentinel->kill;
    let_pass(rand 2);
    $sentinel->restart;
    return {lost => 0};
}

sub sentinel_frozen ($self) {
    my $sentinel = one_of($self->{set}->sentinels);
    $sentinel->freeze;
    let_pass(0.5 + rand 2);
    $sentinel->thaw;
    return {lost => 0};
}

sub sentinels_down ($self) {
    my @sentinels = $self->{set}->sentinels;
    $_->kill for @sentinels;
    let_pass(1 + rand 1);
    $_->restart for @sentinels;
    return {lost => 0};
}

sub connections_closed ($self) {
    close_connections(one_of($self->servers));
    return {lost => 0};
}

sub scripts_flushed ($self) {
    $self->{set}->primary->cmd('SCRIPT', 'FLUSH');
    return {lost => 0};
}

# Those of nginx: not the ones of sentinels, of MONITOR (flag O), and this one. Some may have ended meanwhile.
sub close_connections ($server) {
    my $own = $server->cmd('CLIENT', 'ID');
    for my $line (split /\n/, $server->cmd('CLIENT', 'LIST', 'TYPE', 'normal')) {
        my %client = map { split /=/, $_, 2 } split / /, $line;
        next if $client{id} == $own || $client{flags} =~ /O/ || $client{name} =~ /^sentinel-/;
        $server->ask('CLIENT', 'KILL', 'ID', $client{id});
    }
    return;
}

1;
