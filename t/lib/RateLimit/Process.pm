package RateLimit::Process;

# Child processes of a test. Each one leads its own process group, so that what it starts dies with
# it, and none outlives the test: stop_all() runs at the test's end, on die and on SIGINT, SIGTERM and
# SIGHUP; where the kernel offers it, children are also signalled when the test itself is killed.
#
#   my $p = RateLimit::Process->start(command => ['redis-server', ...], output => FILE, env => {});
#   my $p = RateLimit::Process->start(run => sub { ... }, keep => [$handle, ...]);
#   $p->pid  $p->alive  $p->signal('HUP')  $p->wait(SECONDS)  $p->kill  $p->freeze  $p->thaw
#   $p->status      # waitpid's $?, undef while it runs

use v5.36;

use Carp qw(croak);
use Config;
use POSIX qw(WNOHANG);
use RateLimit::Folder ();    # before our END, that its own comes later
use RateLimit::Wait;

use constant {PR_SET_PDEATHSIG => 1};

my %prctl_number = (x86_64 => 157, aarch64 => 167);
my ($owner, %running);

# exit() runs the END blocks; the default action of these signals would not.
$SIG{$_} = sub { exit 130 } for qw(INT TERM HUP);

sub start ($class, %opt) {
    $owner //= $$;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE);
        setpgrp 0, 0;
        die_with_parent($opt{parent_death} // 9);
        $opt{command} ? execute(%opt) : run(%opt);
        POSIX::_exit(127);
    }
    setpgrp $pid, $pid;
    my $name = $opt{name} // ($opt{command} ? $opt{command}[0] : 'server');
    my $self = bless {pid => $pid, name => $name}, $class;
    $running{$pid} = $self;
    return $self;
}

sub die_with_parent ($signal) {
    my ($machine) = (POSIX::uname())[4];
    my $number = $^O eq 'linux' ? $prctl_number{$machine} : undef;
    syscall($number, PR_SET_PDEATHSIG, $signal, 0, 0, 0) if $number;
    POSIX::_exit(1) if getppid() != $owner;
    return;
}

sub execute (%opt) {
    my %env = %{$opt{env} // {}};
    while (my ($name, $value) = each %env) {
        defined $value ? ($ENV{$name} = $value) : delete $ENV{$name};
    }
    open STDIN, '<', '/dev/null' or POSIX::_exit(126);
    if ($opt{output}) {
        open STDOUT, '>>', $opt{output} or POSIX::_exit(126);
        open STDERR, '>&', \*STDOUT or POSIX::_exit(126);
    }
    no warnings 'exec';
    exec {$opt{command}[0]} @{$opt{command}} or do {
        syswrite STDERR, "exec $opt{command}[0]: $!\n";
    };
    return;
}

# Connections of the test must not stay open in a forked copy, or closing them would not be seen.
sub run (%opt) {
    my %keep = map { fileno($_) => 1 } @{$opt{keep} // []};
    opendir my $dir, '/proc/self/fd' or POSIX::_exit(126);
    my @open = grep { /^\d+$/ && $_ > 2 && !$keep{$_} } readdir $dir;
    closedir $dir;
    POSIX::close($_) for @open;
    open STDOUT, '>', '/dev/null' or POSIX::_exit(126);
    my $fine = eval { $opt{run}->(); 1 };
    syswrite STDERR, "$opt{name}: $@" if !$fine;
    POSIX::_exit($fine ? 0 : 1);
}

sub pid ($self)    { return $self->{pid} }
sub status ($self) { $self->alive; return $self->{status} }

sub alive ($self) {
    return 0 if defined $self->{status};
    my $got = waitpid $self->{pid}, WNOHANG;
    return 1 if $got == 0;
    $self->{status} = $got == $self->{pid} ? $? : -1;
    delete $running{$self->{pid}};
    return 0;
}

sub signal ($self, $name) { return $self->alive && kill $name, $self->{pid} }

# True when the process ended within the time.
sub wait ($self, $seconds = 5) {
    return eval { wait_until { !$self->alive } timeout => $seconds; 1 } ? 1 : 0;
}

# The whole process group, at once.
sub kill ($self) {
    return $self if !$self->alive;
    CORE::kill KILL => -$self->{pid}, $self->{pid};
    croak "$self->{name} survives SIGKILL" if !$self->wait(10);
    return $self;
}

sub freeze ($self) {
    CORE::kill STOP => $self->{pid};
    wait_until { state_of($self->{pid}) eq 'T' } what => "$self->{name} to stop";
    return $self;
}

sub thaw ($self) { CORE::kill CONT => $self->{pid}; return $self }

# The state letter of /proc/PID/stat, empty when there is no such process.
sub state_of ($pid) {
    open my $file, '<', "/proc/$pid/stat" or return '';
    my $line = <$file> // '';
    return $line =~ /\) (\S)/ ? $1 : '';
}

sub children_of ($pid) {
    if (open my $file, '<', "/proc/$pid/task/$pid/children") {
        return split ' ', <$file> // '';
    }
    my @found;
    for my $stat (glob '/proc/[0-9]*/stat') {
        open my $file, '<', $stat or next;
        my ($child, $parent) = (<$file> // '') =~ /^(\d+) \(.*\) \S (\d+)/ or next;
        push @found, $child if $parent == $pid;
    }
    return @found;
}

sub stop_all () {
    return if $$ != ($owner // 0);
    local ($?, $!, $@);
    for my $process (values %running) {
        eval { $process->kill; 1 } or warn $@;
    }
    return;
}

# Runs for tests that die before done() too; RateLimit::Test has its own END that comes first.
END { stop_all() }

1;
