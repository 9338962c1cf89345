package Bench::Steady;

# A steady load on one nginx, and how long its answers take.
#
#   my $load = Bench::Steady->new(rate => 250, seconds => 8);       # requests a second; what is measured
#   my $flood = $load->flood($nginx, keys => 300, seconds => 2, connections => 32);
#   my $run = $load->measure($nginx, keys => 300);                  # over one connection: {rate, 50, 75, 90, 99: ms}; then nginx is stopped

use v5.36;

use Bench::Figures;
use RateLimit::Flood;
use RateLimit::Wait;

use constant WARM => 2;

sub new ($class, %opt) { return bless {%opt}, $class }

# The rate is kept where there are as many connections as wait at once.
sub flood ($self, $nginx, %opt) {
    return RateLimit::Flood->start(
        port => $nginx->port, uris => [map { "/x?k=$_" } 1 .. $opt{keys}], requests => $self->{rate} * $opt{seconds},
        connections => $opt{connections}, rate => $self->{rate} / $opt{connections}, spread => $opt{connections} > 1, log => 1);
}

# measured, if given, is called where what is measured begins, and at its end.
sub measure ($self, $nginx, %opt) {
    let_pass(1);    # all are connected
    my $flood = $self->flood($nginx, keys => $opt{keys}, seconds => 2 * ($self->{seconds} + WARM), connections => 1);    # more than come
    let_pass(WARM);
    $opt{measured}->() if $opt{measured};
    my $begin = now;
    let_pass($self->{seconds});
    $opt{measured}->() if $opt{measured};
    $flood->stop;
    my @us = sort { $a <=> $b } map { $_->{us} } grep { $_->{at} >= $begin } $flood->answers;
    $nginx->stop;
    return {rate => @us / $self->{seconds}, map { ($_ => percentile($_ / 100, @us) / 1000) } 50, 75, 90, 99};
}

1;
