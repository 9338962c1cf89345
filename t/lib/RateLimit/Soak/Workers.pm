package RateLimit::Soak::Workers;

# Faults of an nginx while it serves.
#
#   my $faults = RateLimit::Soak::Workers->new($nginx, connections => 8);      # the connections that load it
#   $faults->kinds;  $faults->fault($kind);  $faults->heal;        # see RateLimit::Soak::Servers
#   $faults->unlogged;                         # how many requests of killed workers may be stored and not logged, or the other way round
#   $faults->begin_reload;                     # returns at once

use v5.36;

use List::Util qw(shuffle);
use RateLimit::Process;
use RateLimit::Wait;

# Requests in doubt for each connection of a killed worker: its own, and two that its charges' batches had on their way.
use constant {OF_A_CONNECTION => 3};

my %kinds = (
    'reload'          => \&reload,
    'two reloads'     => \&two_reloads,
    'worker killed'   => \&worker_killed,
    'workers killed'  => \&workers_killed,
    'worker stalled'  => \&worker_stalled,
    'nginx restarted' => \&restarted,
);

sub new ($class, $nginx, %opt) { return bless {nginx => $nginx, unlogged => 0, %opt}, $class }

sub kinds ($self)    { return sort keys %kinds }
sub unlogged ($self) { return $self->{unlogged} }

# A worker that starts in an nginx that starts does not know the servers yet: the first requests meet errors.
sub fault ($self, $kind, @) {
    $kinds{$kind}->($self);
    return {lost => 0, errors => $kind eq 'nginx restarted' ? 2 * $self->{connections} : 0};
}

sub heal ($self) {
    my $nginx = $self->{nginx};
    wait_until { $nginx->workers == $nginx->expected_workers && !$nginx->old_workers } timeout => 30, what => 'old workers to leave';
    return;
}

sub begin_reload ($self) { $self->{nginx}{process}->signal('HUP'); return }

sub reload ($self) { $self->{nginx}->reload; return }

sub two_reloads ($self) {
    $self->begin_reload;
    let_pass(rand 0.3);
    $self->{nginx}->reload;
    return;
}

sub kill_worker ($self, $pid) {
    $self->{unlogged} += OF_A_CONNECTION * $self->{connections};
    $self->{nginx}->kill_worker($pid);
    return;
}

sub worker_killed ($self) { $self->kill_worker((shuffle $self->{nginx}->workers)[0]); return }

sub workers_killed ($self) {
    $self->kill_worker($_) for $self->{nginx}->workers;
    return;
}

sub worker_stalled ($self) {
    my ($pid) = shuffle $self->{nginx}->workers;
    kill STOP => $pid;
    let_pass(0.3 + rand 0.4);
    kill CONT => $pid;
    return;
}

sub restarted ($self) { $self->{nginx}->restart; return }

1;
