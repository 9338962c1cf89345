package RateLimit::Soak::Servers;

# Faults of servers, whatever they form: the base of RateLimit::Soak::Sentinel and RateLimit::Soak::Cluster. It asks them for
# faults (name => method), servers, primaries and replicas.
#
#   $topology->kinds;                          # the faults by name, sorted
#   $topology->fault($kind, $ledger, sub { ... });     # happens, and is over when it returns. The sub waits until no request meets an
#                                              # error. What may come of it, a hash reference:
#       lost => N                              # so many charges of each window that a server has executed may be missing
#       former => {WINDOW => N}                # besides, those that a former primary has taken since it was replaced
#       told => 1                              # those that are in doubt, too
#       errors => 0                            # so many requests may meet an error, and those in doubt; without: any number
#       anew => 1                              # a server without any window has been written to
#       gaps => 1                              # servers close connections: what clients send before the ledger connects again is not seen
#       late => SECONDS                        # so long after the sentinels have agreed a former primary was written to
#
# Losses that are allowed are Redis's doing. A server that is killed has executed what it had no time to replicate: one turn of its event loop.

use v5.36;

use Exporter qw(import);
use RateLimit::Wait;

our @EXPORT_OK = qw(TURN one_of killed_a_while stalled connections_to);

use constant {TURN => 20};

my %kinds = (
    'primary stalled'    => \&primary_stalled,
    'replica killed'     => \&replica_killed,
    'replica frozen'     => \&replica_frozen,
    'replicas cut off'   => \&replicas_cut_off,
    'connections closed' => \&connections_closed,
    'scripts flushed'    => \&scripts_flushed,
);

sub all_kinds ($self) { return (%kinds, $self->faults) }

sub kinds ($self) {
    my %all = $self->all_kinds;
    return sort keys %all;
}

sub fault ($self, $kind, $ledger, $recovered) {
    @$self{qw(ledger recovered)} = ($ledger, $recovered);
    my %all = $self->all_kinds;
    return $all{$kind}->($self);
}

sub one_of (@things) { return $things[rand @things] }

sub killed_a_while ($server) {
    $server->kill;
    let_pass(rand 2);
    $server->restart;
    return {lost => 0, errors => 0, gaps => 1};
}

sub stalled ($server, $seconds) {
    $server->freeze;
    let_pass($seconds);
    $server->thaw;
    return {lost => 0, errors => 0};
}

# The charges that a server has executed for clients since $before, a result of RateLimit::Soak::Ledger::executed_by.
sub taken_since ($self, $server, $before) {
    my $now = $self->{ledger}->settled($server);
    return {map { $_ => $now->{$_} - $before->{$_} } keys %$now};
}

# Shorter than what makes others take it for dead.
sub primary_stalled ($self) { return stalled(one_of($self->primaries), 0.2 + rand 0.3) }

sub replica_killed ($self) { return killed_a_while(one_of($self->replicas)) }
sub replica_frozen ($self) { return stalled(one_of($self->replicas), 0.5 + rand 2) }

sub replicas_cut_off ($self) {
    one_of($self->primaries)->cmd('CLIENT', 'KILL', 'TYPE', 'replica');
    return {lost => 0, errors => 0};
}

# Some may have ended meanwhile.
sub connections_closed ($self) {
    my $server = one_of($self->servers);
    $server->ask('CLIENT', 'KILL', 'ID', $_) for connections_to($server);
    return {lost => 0};
}

sub scripts_flushed ($self) {
    one_of($self->primaries)->cmd('SCRIPT', 'FLUSH');
    return {lost => 0, errors => 0};
}

# Those of nginx: not the ones of sentinels, of MONITOR (flag O), and this one.
sub connections_to ($server) {
    my $own = $server->cmd('CLIENT', 'ID');
    my @all = map { {map { split /=/, $_, 2 } split / /} } split /\n/, $server->cmd('CLIENT', 'LIST', 'TYPE', 'normal');
    return map { $_->{id} } grep { $_->{id} != $own && $_->{flags} !~ /O/ && $_->{name} !~ /^sentinel-/ } @all;
}

1;
