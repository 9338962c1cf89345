package Bench::Cpu;

# What processes used, and which cores there are.

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

# This process and all that it starts.
sub keep_to (@cores) {
    my $list = join ',', @cores;
    system("taskset -cp $list $$ >/dev/null") == 0 or die "taskset -c $list failed\n";
    return;
}

# All threads of a process, in µs: exact while they sleep, where /proc/PID/stat counts whole ticks.
sub cpu_us ($pid) { return (schedstat($pid))[0] }

# The time in which they ran or waited for a core that others had: at 1e6 a second a process can do no more.
sub wanted_us ($pid) { return sum0(schedstat($pid)) }

# How long they have run, and waited to.
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
