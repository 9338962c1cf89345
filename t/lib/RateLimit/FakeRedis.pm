package RateLimit::FakeRedis;

# A Redis that answers what the test wants.
#
#   my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
#       my ($command, @arguments) = @$words;             # the command's name in lower case
#       return $conn->hold('gate', nil()) if $command eq 'hmget' && $conn->state('slow');
#       return hmget(3, 1_700_000_000_000) if $command eq 'hmget';
#       return error('READONLY You can\'t write against a read only replica.');
#   });
#   $fake->commands;  $fake->commands('hmget');          # [[word, ...], ...] received, in order
#   $fake->writes;                                       # those of them that charge or reserve
#   $fake->charged;                                      # {key => sum of the costs in them}
#
# A handler runs in another process: it sees the test's variables as they were at start, and learns of
# changes by set() and state(). It returns bytes; encoders: simple('OK'), nil, integer(N), bulk(TEXT),
# error(TEXT), array(ENCODED), hmget(USED, RESET). See RateLimit::Server for hold, later, send and close.
# start(welcome => sub ($conn) { ... }): is called for each new connection.
# fallback($words) answers as a fresh Redis does: PING, AUTH, SELECT, CLIENT, READONLY, ASKING, HELLO (an error).
#   nested(['a', undef, ['b']])                # texts in arrays in arrays, as SENTINEL answers them
#   cluster_slots([0, 99, '127.0.0.1:7000', [undef, 7001, 'id']], ...)     # first and last slot, the primary, replicas: host:port,
#                                              # or [host, port, id, further items], to the byte

# Handlers that serve several tests:
#   reading(USED, RESET)      # answers each read so, and nothing else
#   holding_reads             # holds each read at "gate", of no window then; takes charges
#   taking(sub ($nth, $conn, $taken) { ... })   # knows no window; what the function returns answers the nth write: $taken
#                             # says that it was taken
#   reserving(RESET)          # answers reservations as lua/reserve.lua does, of windows that end at RESET; while the state
#                             # "slow" is true it holds the answers at "gate"
#   watching                  # answers as a sentinel: the state "primary" is "HOST PORT EPOCH", of each master; "others" the addresses of the
#                             # other sentinels, with spaces between; while "mute" is true it does not name these

use strict;
use warnings;
use feature 'signatures';

use parent 'RateLimit::Server';
use Exporter 'import';
use RateLimit::RESP;

our @EXPORT = qw(simple nil integer bulk error array nested cluster_slots hmget fallback reading holding_reads taking reserving watching);

sub reading (@window) {
    return sub ($words, $conn) { return $words->[0] eq 'hmget' ? hmget(@window) : fallback($words) };
}

sub holding_reads () {
    return sub ($words, $conn) {
        return $conn->hold('gate', hmget(undef, undef)) if $words->[0] eq 'hmget';
        return $words->[0] =~ /^eval/ ? array(integer(1), integer(1)) : fallback($words);
    };
}

sub taking ($answer) {
    my ($nth, $reset) = (0, (time + 1800) . '000');
    return sub ($words, $conn) {
        return hmget(undef, undef) if $words->[0] eq 'hmget';
        return fallback($words) if !is_write($words);
        return $answer->(++$nth, $conn, array(integer(1), integer($reset)));
    };
}

sub reserving ($reset) {
    my %used;
    return sub ($words, $conn) {
        return fallback($words) if $words->[0] ne 'evalsha' || @$words < 10;
        my ($key, $limit, $want, $least) = @$words[3 .. 6];
        my $left    = $limit - ($used{$key} //= 0);
        my $granted = $least > $left ? 0 : $want > $left ? $left : $want;
        my $answer  = array(integer($granted), integer($used{$key} += $granted), integer($reset));
        return $conn->state('slow') ? $conn->hold('gate', $answer) : $answer;
    };
}

sub watching () {
    return sub ($words, $conn) {
        return fallback($words) if $words->[0] ne 'sentinel';
        my ($host, $port, $epoch) = split / /, $conn->state('primary');
        my @others = map { [/(.*):(.*)/] } split / /, $conn->state('others') // '';
        return nested([ip => $host, port => $port, flags => 'master', 'config-epoch' => $epoch, 'num-other-sentinels' => scalar @others])
            if lc $words->[1] eq 'master';
        return array() if lc $words->[1] ne 'sentinels';
        return error('NOPERM this user has no permissions') if $conn->state('mute');
        return nested([map { [ip => $_->[0], port => $_->[1], flags => 'sentinel'] } @others]);
    };
}

sub simple ($text)    { return "+$text\r\n" }
sub nil ()            { return RateLimit::RESP::reply(undef) }
sub integer ($number) { return ":$number\r\n" }
sub bulk ($text)      { return RateLimit::RESP::reply("$text") }
sub error ($text)     { return "-$text\r\n" }
sub array (@encoded)  { return '*' . @encoded . "\r\n" . join '', @encoded }
sub hmget (@values)   { return RateLimit::RESP::reply([@values]) }
sub nested ($value)   { return RateLimit::RESP::reply($value) }

sub cluster_slots (@ranges) {
    my @encoded;
    for my $range (@ranges) {
        my ($first, $last, @nodes) = @$range;
        push @encoded, array(integer($first), integer($last), map { slots_node($_) } @nodes);
    }
    return array(@encoded);
}

# An address without an id gets one: Redis always sends 40 digits.
sub slots_node ($node) {
    my ($host, $port, $id, @more) = ref $node ? @$node : $node =~ /^(.*):(\d+)$/;
    return array(nested($host), integer($port), bulk($id // sprintf '%040d', $port), map { nested($_) } @more);
}

sub fallback ($words) {
    my $command = lc $words->[0];
    return "+PONG\r\n" if $command eq 'ping';
    return simple('OK') if grep { $command eq $_ } qw(auth select client readonly readwrite asking);
    return error("ERR unknown command '$words->[0]'");
}

sub accepted ($self, $conn) {
    $self->{welcome}->($conn) if $self->{welcome};
    return;
}

sub received ($self, $conn) {
    while (my $taken = RateLimit::RESP::take(\$conn->{in})) {
        my @words = @{$taken->[0]};
        $words[0] = lc $words[0];
        $self->note(@words);
        $conn->answer($self->{handler} // \&default, \@words);
        last if $conn->{gone};
    }
    return;
}

sub default ($words, $conn) { return fallback($words) }

sub is_write ($words)  { return $words->[0] =~ /^(?:hincrby|eval|evalsha)$/ }
sub writes ($self)     { return grep { is_write($_) } $self->commands }

sub charged ($self) {
    my %sums;
    for my $words ($self->writes) {
        my ($key, $cost) = $words->[0] eq 'hincrby' ? @$words[1, 3] : @$words[3, 4];
        $sums{$key} += $cost;
    }
    return \%sums;
}

sub commands ($self, $name = undef) {
    return grep { !defined $name || $_->[0] eq lc $name } $self->records;
}

1;
