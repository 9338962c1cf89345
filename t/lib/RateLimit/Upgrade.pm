package RateLimit::Upgrade;

# An nginx whose program is upgraded while it runs: by USR2 a second master starts beside the first one, with memory of its own.
#
#   my $upgrade = RateLimit::Upgrade->start(server => 'location / { ... }');     # options of RateLimit::Nginx
#   $upgrade->nginx;               # the RateLimit::Nginx: get, error_log, ...
#   $upgrade->master;              # pid of the master that started last
#   $upgrade->begin;               # both masters have workers from here on
#   $upgrade->finish;              # QUIT to the first one; waits until it has left
#   $upgrade->stop;                # QUIT to the one that is left, and waits

use v5.36;

use RateLimit::Folder;
use RateLimit::Nginx;
use RateLimit::Process;
use RateLimit::Wait;

# nginx takes USR2 only where the process that started it has left, as it has with "daemon on". What stays is in its group.
# nginx hands no environment to its successor but what it is told.
sub start ($class, %opt) {
    my %env   = (%{$opt{env} // {}}, map { $_ => 1 } qw(ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS));
    my $nginx = RateLimit::Nginx->create(%opt, env => \%env);
    my $self  = bless {nginx => $nginx, pid_file => $nginx->folder . '/nginx.pid'}, $class;
    my $start = '( "$@" & until [ -s nginx.pid ]; do sleep 0.02; done ); exec sleep 600';
    $nginx->{process} = RateLimit::Process->start(
        command => ['sh', '-c', "cd '" . $nginx->folder . "' && $start", 'sh', $nginx->command], name => 'nginx',
        output => $nginx->folder . '/output');
    # The shell becomes "sleep" once what has started nginx is gone.
    my $shell = '/proc/' . $nginx->{process}->pid . '/comm';
    wait_until { $self->master && RateLimit::Process::children_of($self->master) && read_text($shell) eq "sleep\n" } what => 'nginx';
    return $self;
}

sub nginx ($self) { return $self->{nginx} }

sub master ($self) { return -e $self->{pid_file} ? (read_text($self->{pid_file}) =~ /^(\d+)$/m)[0] // 0 : 0 }

sub is_gone (@pids) { return !grep { RateLimit::Process::state_of($_) =~ /[^Z]/ } @pids }

sub begin ($self) {
    my $old = $self->{old} = $self->master;
    kill USR2 => $old;
    wait_until { $self->master && $self->master != $old && RateLimit::Process::children_of($self->master) } what => 'a new master';
    return $self;
}

sub finish ($self) {
    kill QUIT => $self->{old};
    wait_until { is_gone($self->{old}) } what => 'the old master to leave';
    return $self;
}

sub stop ($self) {
    my $master = $self->master;
    kill QUIT => $master;
    wait_until { is_gone($master) } what => 'nginx to leave';
    $self->nginx->{process}->kill;
    return $self;
}

1;
