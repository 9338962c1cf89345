package Bench::Cpu;

# The processor time that processes have used, and the cores that this process may use.

use strict;
use warnings;
use feature 'signatures';

use Exporter 'import';
use List::Util qw(sum0);
use RateLimit::Wait;
use Time::HiRes qw(sleep);

our @EXPORT = qw(cores keep_to cpu_us wanted_us wait_idle);

sub cores () {
    open my $file, '<', '/proc/self/status' or die $!;
    my ($list) = join('', <$file>) =~ /^Cpus_allowed_list:\s*(\S+)/m;
    return map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $list;
}

# Keeps this process, and all processes that it starts, on these cores.
sub keep_to (@cores) {
    my $list = join ',', @cores;
    system("taskset -cp $list $$ >/dev/null") == 0 or die "taskset -c $list failed\n";
    return;
}

# Returns the processor time of all threads of a process, in µs. It is exact while they sleep; /proc/PID/stat counts whole
# ticks.
sub cpu_us ($pid) { return (schedstat($pid))[0] }

# Returns the time in which the threads ran or waited for a core that others had, in µs. At 1e6 in a second the process can
# do no more.
sub wanted_us ($pid) { return sum0(schedstat($pid)) }

# Returns how long the threads have run, and how long they have waited to run.
sub schedstat ($pid) {
    my @sums = (0, 0);
    for my $path (glob "/proc/$pid/task/*/schedstat") {
        open my $file, '<', $path or next;
        my @ns = split ' ', <$file> // '';
        $sums[$_] += ($ns[$_] // 0) / 1000 for 0, 1;
    }
    return @sums;
}

# A worker without requests and charges sleeps: it is idle once it did not run for 20 ms.
sub wait_idle ($pid) {
    my $before = cpu_us($pid);
    sleep 0.02;
    return wait_until {
        my $now = cpu_us($pid);
        my $idle = $now - $before < 1;
        $before = $now;
        sleep 0.01 if !$idle;
        $idle
    } timeout => 10, what => 'the worker to be idle';
}

1;
