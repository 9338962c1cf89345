package RateLimit::Server::Connection;

# One connection of a RateLimit::Server; its methods for handlers are described there.

use v5.36;

use Errno qw(EAGAIN EINTR);
use IO::Handle;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY SOL_SOCKET SO_LINGER);

sub new ($class, $server, $socket) {
    $socket->blocking(0);
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    return bless {
        server => $server, socket => $socket, number => fileno $socket, in => '', out => '', queue => [],
    }, $class;
}

sub number ($self)       { return $self->{number} }
sub state ($self, $name) { return $self->{server}{state}{$name} }

# Asks the handler and keeps its answer's place.
sub answer ($self, $handler, @question) {
    my $value = $handler->(@question, $self);
    return if $self->{gone} || !defined $value;
    my $place = ref $value eq 'RateLimit::Server::Place' ? $value : $self->place($value, ready => 1);
    push @{$self->{queue}}, $place;
    return $self->flush;
}

sub place ($self, $value, %how) { return bless {value => $value, %how}, 'RateLimit::Server::Place' }

sub hold ($self, $gate, $value) { return $self->place($value, gate => $gate) }

sub later ($self, $seconds, $value) {
    my $place = $self->place($value);
    $self->{server}->after($seconds, sub {
        $place->{ready} = 1;
        $self->flush if !$self->{gone};
    });
    return $place;
}

sub release ($self, $gate) {
    $_->{ready} = 1 for grep { ($_->{gate} // '') eq $gate } @{$self->{queue}};
    return $self->flush;
}

sub flush ($self) {
    while (@{$self->{queue}} && $self->{queue}[0]{ready}) {
        $self->{out} .= $self->{server}->encode((shift @{$self->{queue}})->{value});
    }
    return $self->write_out;
}

sub send ($self, $bytes) {
    $self->{out} .= $bytes;
    return $self->write_out;
}

sub wants_write ($self) { return length $self->{out} || $self->{closing} && !@{$self->{queue}} }

sub write_out ($self) {
    return if $self->{gone};
    local $SIG{PIPE} = 'IGNORE';
    while (length $self->{out}) {
        my $sent = syswrite $self->{socket}, $self->{out};
        if (!defined $sent) {
            return if $! == EAGAIN || $! == EINTR;
            return $self->cut if $self->{paused} || $self->{closing};
            # The last words of the peer before it closed are still to be read; the end comes behind them.
            $self->{out} = '';
            return;
        }
        substr $self->{out}, 0, $sent, '';
    }
    $self->cut if $self->{closing} && !@{$self->{queue}};
    return;
}

sub read_in ($self) {
    my $got = sysread $self->{socket}, $self->{in}, 65_536, length $self->{in};
    return if !defined $got && ($! == EAGAIN || $! == EINTR);
    return $got ? $self->{server}->received($self) : $self->cut;
}

sub close ($self, $reset = 0) {
    return $self->cut(1) if $reset;
    $self->{closing} = 1;
    return;
}

sub cut ($self, $reset = 0) {
    return if $self->{gone}++;
    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0 if $reset;
    delete $self->{server}{open}{$self->{number}};
    CORE::close $self->{socket};
    # Perl counts users of a descriptor's number, and a handle inherited from the test may be one.
    POSIX::close($self->{number});
    $self->{server}->ended($self);
    return;
}

1;
