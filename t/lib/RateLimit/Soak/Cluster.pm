package RateLimit::Soak::Cluster;

# A RateLimit::Cluster for a soak, and what can happen to it: rows 20 to 32 of the fault matrix. It offers what RateLimit::Soak::Sentinel
# does.

use v5.36;

use parent 'RateLimit::Soak::Servers';

use List::Util qw(first shuffle);
use RateLimit::Cluster;
use RateLimit::Soak::Servers qw(TURN one_of connections_to);
use RateLimit::Wait;

# A replica that takes its primary's place is left alone for so many seconds.
use constant {REST => 10};

my %kinds = (
    'primary killed'     => \&primary_killed,
    'primary frozen'     => \&primary_frozen,
    'primary thaws soon' => \&primary_thaws_soon,
    'failover'           => \&failover,
    'failover forced'    => \&failover_forced,
    'takeover'           => \&takeover,
    'slots moved'        => \&slots_moved,
    'slot in migration'  => \&slot_in_migration,
    'node added'         => \&node_added,
);

# windows: ["x/86400", KEY, KEY, ...] of each that is looked at.
sub start ($class, %opt) { return bless {cluster => RateLimit::Cluster->start, won => {}, %opt}, $class }

sub name ($self)         { return 'Cluster' }
sub block ($self, $more) { return $self->{cluster}->block('main', $more) }
sub servers ($self)      { return $self->{cluster}->nodes }
sub primaries ($self)    { return $self->{cluster}->primaries }
sub replicas ($self)     { return $self->{cluster}->replicas }
sub faults ($self)       { return %kinds }

sub stored ($self, $window, @keys) {
    my $cluster = $self->{cluster};
    my (%owner, %asked, %used);
    for my $owned ($cluster->owned) { $owner{$_} = $owned->[0] for @{$owned->[1]} }
    push @{$asked{$owner{$cluster->slot_of("rl:$window:$_")}{port}}}, $_ for @keys;
    for my $node ($cluster->nodes) {
        my $here = $asked{$node->{port}} or next;
        @used{@$here} = $node->used_of($window, @$here);
    }
    return @used{@keys};
}

sub heal ($self) {
    $self->{cluster}->wait_ok;
    $_->wait_synced for $self->{cluster}->replicas;
    return;
}

# A primary and the replica that is to take its place: one that did not do so lately.
sub pair ($self) {
    my $cluster = $self->{cluster};
    my @pairs = shuffle grep { $_->[1] } map { [$_, $cluster->replicas_at($_)] } $cluster->primaries;
    my sub won ($pair) { return $self->{won}{$pair->[1]{port}} // -REST }
    my $found = (sort { won($a) <=> won($b) } @pairs)[0];
    wait_until { monotonic() - won($found) >= REST } timeout => 2 * REST, what => 'a replica that did not win lately';
    return @$found;
}

sub promoted ($self, $node) { $self->{won}{$node->{port}} = monotonic(); return }

sub primary_killed ($self) {
    my ($old) = $self->pair;
    $old->kill;
    $self->promoted($self->{cluster}->wait_promoted($old));
    $old->restart;
    return {lost => TURN, gaps => 1};
}

# When it goes on, it executes what lies in its sockets: that is in doubt.
sub primary_frozen ($self) {
    my ($old) = $self->pair;
    $old->freeze;
    $self->promoted($self->{cluster}->wait_promoted($old));
    $self->{recovered}->();
    $old->thaw;
    return {lost => TURN, told => 1};
}

# It goes on when the others agree, and before all workers know.
sub primary_thaws_soon ($self) {
    my ($old) = $self->pair;
    $old->freeze;
    $self->promoted($self->{cluster}->wait_promoted($old));
    my $before = $self->{ledger}->executed_by($old);
    $old->thaw;
    wait_until { $old->role eq 'slave' } timeout => 30, what => 'the former primary to follow';
    return {lost => TURN, former => $self->taken_since($old, $before)};
}

# The primary waits until its replica has everything.
sub failover ($self, $how = undef) {
    my ($old, $replica) = $self->pair;
    $self->{cluster}->failover($replica, $how);
    $self->promoted($replica);
    return {lost => $how ? 2 * TURN : 0, errors => 0};
}

sub failover_forced ($self) { return $self->failover('FORCE') }
sub takeover ($self)        { return $self->failover('TAKEOVER') }

# Slots that have keys.
sub some_slots ($self, $node, $count) {
    my %here  = map { $_ => 1 } $self->{cluster}->slots_of($node);
    my @slots = grep { $here{$_} } map { my ($window, @keys) = @$_; map { $self->{cluster}->slot_of("rl:$window:$_") } @keys } @{$self->{windows}};
    return grep { defined } (shuffle @slots)[0 .. $count - 1];
}

sub two_primaries ($self) {
    my ($from, $to) = shuffle grep { !$_->{added} } $self->primaries;
    return ($from, $to);
}

sub slots_moved ($self) {
    my ($from, $to) = $self->two_primaries;
    my %slots = map { $_ => 1 } $self->some_slots($from, 5);
    $self->{cluster}->migrate_slots($from, $to, sort { $a <=> $b } keys %slots);
    return {lost => 0, errors => 0};
}

sub slot_in_migration ($self) {
    my ($from, $to) = $self->two_primaries;
    my ($slot) = $self->some_slots($from, 1) or return {lost => 0, errors => 0};
    $self->{cluster}->begin_migration($from, $to, $slot);
    let_pass(rand 1);
    my @keys = @{$from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 100)};
    $self->{cluster}->move_keys($from, $to, @keys) if @keys;
    let_pass(rand 1);
    $self->{cluster}->migrate_slots($from, $to, $slot);
    return {lost => 0, errors => 0};
}

# It gets slots, gives them back, and goes.
sub node_added ($self) {
    my $cluster = $self->{cluster};
    my $node    = $cluster->add_node;
    $self->{ledger}->follow($node);
    my %from;
    for my $from ($cluster->primaries) { $from{$_} = $from for $self->some_slots($from, 2) }
    my @slots = sort { $a <=> $b } keys %from;
    $cluster->migrate_slots($from{$_}, $node, $_) for @slots;
    let_pass(1);
    $cluster->migrate_slots($node, $from{$_}, $_) for @slots;
    wait_until { !connections_to($node) } timeout => 20, what => 'workers to close their connections to the node';
    $cluster->remove_node($node);
    $self->{ledger}->leave($node);
    return {lost => 0, errors => 0};
}

1;
