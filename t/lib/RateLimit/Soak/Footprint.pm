package RateLimit::Soak::Footprint;

# Memory and descriptors of an nginx's workers and its master process over time.
#
#   my $footprint = RateLimit::Soak::Footprint->new($nginx);
#   $footprint->look;                          # takes a sample; costs nothing much
#   $footprint->between(0.2, 0.4, 'workers');  # that part of the time so far: {memory, all, files}, the maximum of any process;
#                                              # undef: no sample. Or 'master'
#   $footprint->last('workers');
#
# memory: KB of its own, without what it shares; all: KB resident, the shared memory that it has touched too; files: open descriptors.

use v5.36;

use List::Util qw(max);
use RateLimit::Folder;
use RateLimit::Wait;

sub new ($class, $nginx) { return bless {nginx => $nginx, begun => monotonic(), samples => []}, $class }

sub process ($pid) {
    my $status = read_text("/proc/$pid/status");
    my ($memory) = $status =~ /^RssAnon:\s+(\d+)/m or return;
    my ($all)    = $status =~ /^VmRSS:\s+(\d+)/m;
    opendir my $files, "/proc/$pid/fd" or return;
    return {memory => $memory, all => $all, files => scalar grep { /\d/ } readdir $files};
}

sub maximum (@of) {
    return if !@of;
    return {map { my $what = $_; $what => max(map { $_->{$what} } @of) } qw(memory all files)};
}

# Workers that leave are left out: they go, and do not count.
sub look ($self) {
    my $nginx = $self->{nginx};
    push @{$self->{samples}}, {
        at      => monotonic() - $self->{begun},
        workers => maximum(map { process($_) } $nginx->workers),
        master  => maximum(process($nginx->pid)),
    };
    return $self;
}

sub between ($self, $from, $to, $who) {
    my @samples = @{$self->{samples}};
    my $time    = @samples ? $samples[-1]{at} : 0;
    return maximum(grep { $_ } map { $_->{$who} } grep { $_->{at} >= $from * $time && $_->{at} <= $to * $time } @samples);
}

sub last ($self, $who) { return (grep { $_ } map { $_->{$who} } @{$self->{samples}})[-1] }

1;
