package Bench::Syscalls;

# Counts the system calls of running processes: with perf, which hardly slows them, else with strace.
#
#   my $count = Bench::Syscalls->start(FILE, PID, ...) or ...;   # nothing: neither can be had here
#   $count->stop;

use strict;
use warnings;
use feature 'signatures';

use RateLimit::Folder;
use RateLimit::Process;
use RateLimit::Wait;

my $event = 'raw_syscalls:sys_enter';
my $tool;

sub tool () {
    return $tool //=
          system("perf stat -e $event true >/dev/null 2>&1") == 0 ? 'perf'
        : system('strace -c -o /dev/null true >/dev/null 2>&1') == 0 ? 'strace'
        :                                                              '';
}

sub start ($class, $file, @pids) {
    return if !tool();
    unlink $file, "$file.log";
    my @command = tool() eq 'perf'
        ? ('perf', 'stat', '-x,', '-e', $event, '-o', $file, '-p', join ',', @pids)
        : ('strace', '-c', '-f', '-o', $file, map { ('-p', $_) } @pids);
    my $process = RateLimit::Process->start(command => \@command, output => "$file.log", name => tool());
    # perf opens its counters, then sleeps; strace says that it attached.
    wait_until {
        $process->alive or die tool() . ' ended: ' . read_text("$file.log");
        tool() eq 'perf'
            ? counters($process->pid) > 0
            : (() = read_text("$file.log") =~ /attached/g) >= @pids
    } what => tool() . ' to attach';
    return bless {process => $process, file => $file}, $class;
}

sub counters ($pid) {
    return scalar grep { (readlink // '') =~ /perf_event/ } glob "/proc/$pid/fd/*";
}

sub stop ($self) {
    $self->{process}->signal('INT');
    $self->{process}->wait(5) or die tool() . ' does not end';
    my $text = read_text($self->{file});
    my $line = tool() eq 'perf' ? qr/^(\d+),,\Q$event\E/m : qr/^100\.00\s+\S+\s+(?:\d+\s+)?(\d+).*total$/m;
    my ($count) = $text =~ $line;
    return $count // die "no count in $text";
}

1;
