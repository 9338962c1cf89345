package RateLimit::Rush;

# Clients that ask several machines at the same time, each as fast as it is answered, or at a pace; and what passed when.
#
#   my $rush = RateLimit::Rush->new(\@machines, connections => 4, uri => '/x', headers => ['X-Key' => 'a']);      # so many to each
#   $rush->go(2);                     # for two seconds, or longer where all is slow; may be called again
#   $rush->go(2, every => 0.1);       # each client asks every 100 ms or so, where the answer has come
#   $rush->go(2, only => 0);          # at that machine alone
#   $rush->go(2, least => 8);         # longer, until each client has asked so many times
#   $rush->passed;                    # [machine's index, when it was sent, when it was answered] of each request that passed
#   $rush->asked;                     # how many requests there were
#   $rush->shares;                    # for each machine, the part that passed of what it was asked for since the last call; 0 to 1
#   $rush->most_over($burst, $rate);  # how many more passed than burst + rate * T, in the worst T; less than 0: never so many

use v5.36;

use List::Util qw(max min sum0);
use RateLimit::Wait;

sub new ($class, $machines, %opt) {
    my @clients = map { my $at = $_; map { {at => $at, http => $machines->[$at]->http} } 1 .. $opt{connections} // 1 } 0 .. $#$machines;
    return bless {%opt, clients => \@clients, passed => [], asked => 0, counts => [map { [0, 0] } @$machines]}, $class;
}

sub go ($self, $seconds, %pace) {
    my $every = $pace{every} // 0;
    my $end   = monotonic() + patience($seconds);
    my %open  = map { fileno $_->{http}->socket => $_ } grep { $_->{at} == ($pace{only} // $_->{at}) } @{$self->{clients}};
    @$_{qw(next asked)} = (monotonic() + $every * rand, 0) for values %open;
    while (%open) {
        my $now = monotonic();
        for my $client (values %open) { $self->ask($client) if !$client->{waits} && $client->{next} <= $now }
        my $read = '';
        vec($read, $_, 1) = 1 for grep { $open{$_}{waits} } keys %open;
        my @pauses = map { $_->{waits} ? () : max(0, $_->{next} - $now) } values %open;
        select $read, undef, undef, min(1, @pauses);
        for my $number (grep { vec $read, $_, 1 } keys %open) {
            my $client = $open{$number};
            $self->take($client);
            $client->{next} = max(monotonic(), $client->{sent} + $every * (0.5 + rand));
        }
        my sub is_over ($client) { return !$client->{waits} && $client->{next} >= $end && $client->{asked} >= ($pace{least} // 0) }
        delete @open{grep { is_over($open{$_}) } keys %open};
    }
    return $self;
}

sub ask ($self, $client) {
    $client->{sent} = monotonic();
    $client->{http}->start_request('GET', $self->{uri}, $self->{headers} // []);
    $client->{waits} = 1;
    ++$client->{asked};
    return;
}

sub take ($self, $client) {
    my $passes = $client->{http}->response->status == 200;
    $client->{waits} = 0;
    push @{$self->{passed}}, [$client->{at}, $client->{sent}, monotonic()] if $passes;
    ++$self->{asked};
    my $count = $self->{counts}[$client->{at}];
    ++$count->[0];
    $count->[1] += $passes;
    return;
}

sub passed ($self) { return @{$self->{passed}} }
sub asked ($self)  { return $self->{asked} }

sub shares ($self) {
    my @shares = map { $_->[1] / max(1, $_->[0]) } @{$self->{counts}};
    $_ = [0, 0] for @{$self->{counts}};
    return @shares;
}

# Requests that passed may have been taken at any time while their clients waited: in a time are those that were sent and answered in it.
sub most_over ($self, $burst, $rate) {
    my @by_end = sort { $a->[2] <=> $b->[2] } $self->passed;
    my $most   = -$burst;
    for my $from (map { $_->[1] } @by_end) {
        my $count = 0;
        for (@by_end) {
            next if $_->[1] < $from;
            my $over = ++$count - $burst - $rate * ($_->[2] - $from);
            $most = $over if $over > $most;
        }
    }
    return $most;
}

1;
