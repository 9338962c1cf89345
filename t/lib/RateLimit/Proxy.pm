package RateLimit::Proxy;

# A TCP proxy in front of a server on loopback, to break and stall connections between two live ends.
#
#   my $proxy = RateLimit::Proxy->start(to => $redis->port);
#   $proxy->port;  $proxy->address;
#   $proxy->lead_to($other->port);      # connections go there from now on; those that are open stay
#   $proxy->drop;  $proxy->drop(1);    # cuts every connection; by reset
#   $proxy->stall('answers');          # keeps back what the server sends; 'questions': what the client sends
#   $proxy->flow;                      # lets everything through again
#   $proxy->cut_after(answers => 9);   # cuts each connection when so many bytes came from there; undef: none
#   $proxy->relayed('answers');        # how many bytes came from there, of all connections
#   RateLimit::Proxy->start(to => PORT, narrow => 1): it reads little at a time, so that writers find their sockets full
#   RateLimit::Proxy->start(to => PORT, delay => 0.05): answers come so many seconds later
#   RateLimit::Proxy->start(to => PORT, distance => 0.03): the server is so many seconds away: what is sent, and the end of a connection,
#                                      take that long each way, and a connection a round trip more before it carries anything
#   $proxy->move(0.05);                # it is so far away from now on
#   $proxy->stop;  $proxy->restart;  $proxy->freeze;  $proxy->thaw;  $proxy->connections;

use v5.36;

use parent 'RateLimit::Server';
use IO::Socket::INET;
use List::Util qw(max);
use Socket qw(IPPROTO_TCP SOL_SOCKET SO_RCVBUF TCP_MAXSEG);
use RateLimit::Wait;

# All that arrived before this call still passes: the question takes one turn of the loop, in which the proxy relays it.
sub stall ($self, $direction) {
    $self->relayed($direction);
    return $self->set("stall $direction", 1);
}

sub flow ($self) {
    $self->set("stall $_", '') for qw(questions answers);
    return $self;
}

sub cut_after ($self, $direction, $bytes) { return $self->set("cut $direction", $bytes // '') }

sub relayed ($self, $direction) { return $self->ask('relayed', $direction) }

# The new distance outlives a restart.
sub move ($self, $distance) {
    $self->{distance} = $distance;
    return $self->tell('move', $distance);
}

sub in_child ($self) {
    $self->{relayed} = {questions => 0, answers => 0};
    # Connections inherit both. Clients size their own buffers by the length of segments.
    if ($self->{narrow}) {
        setsockopt $self->{listener}, SOL_SOCKET,  SO_RCVBUF,  16384 or die $!;
        setsockopt $self->{listener}, IPPROTO_TCP, TCP_MAXSEG, 1000  or die $!;
    }
    return;
}

sub lead_to ($self, $port) { return $self->set(to => $port) }

sub accepted ($self, $client) {
    my $port   = $self->{state}{to} // $self->{to};
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
    return $client->cut(1) if !$socket;
    my $server = $self->adopt($socket);
    ($client->{other}, $client->{direction}) = ($server, 'questions');
    ($server->{other}, $server->{direction}) = ($client, 'answers');
    # The client could send only when the server's answer to its SYN had come back.
    $client->{due} = monotonic() + 3 * ($self->{distance} // 0);
    return;
}

sub received ($self, $conn) {
    my $direction = $conn->{direction};
    return if $self->{state}{"stall $direction"};
    my $bytes = $conn->{in};
    $conn->{in} = '';
    $self->{relayed}{$direction} += length $bytes;
    my $most = $self->{state}{"cut $direction"} // '';
    my $left = $most ne '' ? $most - ($conn->{relayed} // 0) : undef;
    $conn->{relayed} += length $bytes;
    my $other = $conn->{other};
    if (defined $left && length $bytes >= $left) {
        $other->send(substr $bytes, 0, $left) if $other && $left > 0;
        return $conn->cut;
    }
    $self->arrives($conn, sub { $other->send($bytes) }) if $other && length $bytes;
    return;
}

# When all that came before over this connection has, also where that had a longer way.
sub arrives ($self, $conn, $action) {
    my $way = ($self->{distance} // 0) + ($conn->{direction} eq 'answers' ? $self->{delay} // 0 : 0);
    return $action->() if !$way && !$conn->{under_way};
    $conn->{due} = max($conn->{due} // 0, monotonic() + $way);
    $conn->{under_way}++;
    $self->at($conn->{due}, sub { $conn->{under_way}--; $action->() });
    return;
}

sub obey ($self, @words) {
    return $self->{relayed}{$words[1]} if $words[0] eq 'relayed';
    $self->{distance} = $words[1] if $words[0] eq 'move';
    my @answer = $self->SUPER::obey(@words);
    my @open = grep { $_->{other} } values %{$self->{open}};
    $self->received($_) for @open;
    return @answer;
}

sub ended ($self, $conn) {
    my $other = delete $conn->{other} or return;
    delete $other->{other};
    $self->arrives($conn, sub { $other->close; $other->write_out });
    return;
}

1;
