package Bench::Load;

# The load: our own generator at full speed, h2load at a fixed rate.
#
#   my $load = Bench::Load->start(program => FILE, port => 80, connections => 64, seconds => 1, keys => 9);
#   $load->first;                  # answers before the measured time: one a connection
#   my $counts = $load->run;       # {requests, admitted, rejected, other, seconds}
#   $load->begin;  $load->end;     # the same, and what stands between the two happens meanwhile
#   $load->close;
#   my @us = latencies(port => 80, connections => 64, seconds => 1, rate => 5000, uris => FILE, log => FILE);

use strict;
use warnings;
use feature 'signatures';

use Exporter 'import';
use IPC::Open2;

our @EXPORT = qw(latencies);

# Runs begin where the last one ended, so that all keys are used alike.
my $first = 0;

sub start ($class, %opt) {
    my $pid = open2(my $out, my $in, $opt{program}, @opt{qw(port connections seconds keys)}, $first);
    my $self = bless {pid => $pid, out => $out, in => $in}, $class;
    $self->{first} = $self->read_counts(qr/^ready (.*)/);
    return $self;
}

sub first ($self) { return $self->{first} }

sub run ($self) {
    $self->begin;
    return $self->end;
}

sub begin ($self) {
    print {$self->{in}} "go\n";
    $self->{in}->flush;
    return;
}

sub end ($self) {
    my $counts = $self->read_counts(qr/^(\d.*)/);
    $first += $counts->{requests};
    return $counts;
}

sub read_counts ($self, $line) {
    my ($words) = (readline($self->{out}) // '') =~ $line or die "the load generator failed\n";
    my %counts;
    @counts{qw(requests admitted rejected other seconds)} = split ' ', $words;
    die "$counts{other} answers are neither 2xx nor 429\n" if $counts{other};
    return \%counts;
}

sub close ($self) {
    close $self->{in};
    close $self->{out};
    waitpid $self->{pid}, 0;
    return;
}

# Each answer's time, in µs. A client of h2load looks every 10 ms what it has to send: these begin one after
# another, or all would send at once.
sub latencies (%opt) {
    unlink $opt{log};
    my @command = (
        'h2load', '--h1', '-c', $opt{connections}, '-n', int($opt{rate} * $opt{seconds}),
        sprintf('--rps=%.3f', $opt{rate} / $opt{connections}), '-i', $opt{uris}, "--log-file=$opt{log}",
        '-B', "http://127.0.0.1:$opt{port}", '-r', int($opt{connections} / 10 + 1), '--rate-period=1ms',
    );
    my $output = do { open my $pipe, '-|', @command or die "h2load: $!"; local $/; <$pipe> };
    open my $file, '<', $opt{log} or die "h2load left no log: $output";
    my @us;
    while (<$file>) {
        my (undef, $status, $us) = split;
        die "h2load got status $status\n" if $status != 200;
        push @us, $us;
    }
    die "h2load: $output" if !@us;
    return sort { $a <=> $b } @us;
}

1;
