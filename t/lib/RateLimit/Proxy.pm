package RateLimit::Proxy;

# A TCP proxy in front of a server on loopback, to break and stall connections between two live ends.
#
#   my $proxy = RateLimit::Proxy->start(to => $redis->port);
#   $proxy->port;  $proxy->address;
#   $proxy->lead_to($other->port);      # where connections go from now on; those that are open stay
#   $proxy->drop;  $proxy->drop(1);    # cuts every connection; by reset
#   $proxy->stall('answers');          # keeps back what the server sends; 'questions': what the client sends
#   $proxy->flow;                      # lets everything through again
#   $proxy->stop;  $proxy->restart;  $proxy->freeze;  $proxy->thaw;  $proxy->connections;

use v5.36;

use parent 'RateLimit::Server';
use IO::Socket::INET;

sub stall ($self, $direction) { return $self->set("stall $direction", 1) }

sub flow ($self) {
    $self->set("stall $_", '') for qw(questions answers);
    return $self;
}

sub lead_to ($self, $port) { return $self->set(to => $port) }

sub accepted ($self, $client) {
    my $port   = $self->{state}{to} // $self->{to};
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
    return $client->cut(1) if !$socket;
    my $server = $self->adopt($socket);
    ($client->{other}, $client->{direction}) = ($server, 'questions');
    ($server->{other}, $server->{direction}) = ($client, 'answers');
    return;
}

sub received ($self, $conn) {
    return if $self->{state}{"stall $conn->{direction}"};
    my $bytes = $conn->{in};
    $conn->{in} = '';
    $conn->{other}->send($bytes) if length $bytes;
    return;
}

sub obey ($self, @words) {
    my @answer = $self->SUPER::obey(@words);
    my @open = grep { $_->{other} } values %{$self->{open}};
    $self->received($_) for @open;
    return @answer;
}

sub ended ($self, $conn) {
    my $other = delete $conn->{other} or return;
    delete $other->{other};
    $other->close;
    $other->write_out;
    return;
}

1;
