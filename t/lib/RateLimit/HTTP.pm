package RateLimit::HTTP;

# HTTP/1.1 over one keep-alive connection; HTTP/2 by curl and h2load.
#
#   my $http = RateLimit::HTTP->new(port => 8080);        # or socket_path => PATH
#   my $r = $http->get('/x', 'X-Key' => 'a');             # head, and post('/x', BODY, HEADERS ...), likewise
#   my $r = $http->request('PUT', '/x', [HEADERS ...], BODY);
#   my @r = $http->pipeline(['GET', '/1'], ['HEAD', '/2', [HEADERS ...]]);   # one write, all answers
#   $http->send(TEXT);                                    # raw bytes
#   $http->start_request('GET', '/x', [HEADERS ...]);     # sends, does not wait
#   my $r = $http->response(method => 'GET', timeout => 5);    # the next answer, dies when the time is over
#   $http->quiet(0.1);                                    # true: nothing came within that time
#   $http->close;  $http->abort;                          # FIN; RST
#   $http->at_end(5);                                     # waits for the server to close
#   $http->finish;                                        # FIN, then waits for the server to close
#   The get, head, post, request of RateLimit::Nginx use a connection of their own each time, and finish it.
#
#   http2(PORT, '/x', HEADERS ...);                       # one request by curl, prior knowledge
#   h2load(PORT, '/x', requests => 1000, clients => 4, streams => 10, headers => ['X-Key: a'])
#                                                         # {2 => n, 3 => n, 4 => n, 5 => n, failed => n}

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(IPPROTO_TCP TCP_NODELAY SHUT_WR SOL_SOCKET SO_LINGER);
use RateLimit::Response;
use RateLimit::Wait;

our @EXPORT = qw(http2 h2load);

sub new ($class, %opt) {
    my $socket =
        defined $opt{socket_path}
        ? IO::Socket::UNIX->new(Peer => $opt{socket_path})
        : IO::Socket::INET->new(
            PeerAddr => $opt{host} // '127.0.0.1', PeerPort => $opt{port}, Timeout => patience(5));
    croak 'connect: ' . ($@ || $!) if !$socket;
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1 if !defined $opt{socket_path};
    return bless {socket => $socket, buffer => '', timeout => $opt{timeout} // 10}, $class;
}

sub socket ($self) { return $self->{socket} }

sub text_of ($method, $uri, $headers = [], $body = undef) {
    my @headers = @$headers;
    my $text    = "$method $uri HTTP/1.1\r\n";
    my %seen;
    while (my ($name, $value) = splice @headers, 0, 2) {
        $seen{lc $name} = 1;
        $text .= "$name: $value\r\n";
    }
    $text .= "Host: localhost\r\n" if !$seen{host};
    $text .= 'Content-Length: ' . length($body) . "\r\n"
        if defined $body && !$seen{'content-length'} && !$seen{'transfer-encoding'};
    return "$text\r\n" . ($body // '');
}

sub get ($self, $uri, @headers)         { return $self->request('GET',  $uri, \@headers) }
sub head ($self, $uri, @headers)        { return $self->request('HEAD', $uri, \@headers) }
sub post ($self, $uri, $body, @headers) { return $self->request('POST', $uri, \@headers, $body) }

sub request ($self, $method, @rest) {
    $self->start_request($method, @rest);
    return $self->response(method => $method);
}

sub start_request ($self, @words) { return $self->send(text_of(@words)) }

sub pipeline ($self, @requests) {
    $self->send(join '', map { text_of(@$_) } @requests);
    return map { $self->response(method => $_->[0]) } @requests;
}

sub send ($self, $text) {
    local $SIG{PIPE} = 'IGNORE';
    while (length $text) {
        my $sent = syswrite $self->{socket}, $text;
        croak "send: $!" if !defined $sent;
        substr $text, 0, $sent, '';
    }
    return $self;
}

sub response ($self, %opt) {
    my $end = monotonic() + patience($opt{timeout} // $self->{timeout});
    while (1) {
        my $response = RateLimit::Response->take(\$self->{buffer}, %opt, eof => $self->{eof});
        return $response if $response;
        croak 'the server closed the connection without a response' if $self->{eof};
        croak 'no response in time' if !$self->fill($end - monotonic());
    }
}

# Waits for bytes or the end; false when neither came.
sub fill ($self, $seconds) {
    vec(my $read = '', fileno $self->{socket}, 1) = 1;
    return 0 if select($read, undef, undef, $seconds > 0 ? $seconds : 0) <= 0;
    my $got = sysread $self->{socket}, $self->{buffer}, 65_536, length $self->{buffer};
    $self->{eof} = 1 if !$got;
    return 1;
}

sub quiet ($self, $seconds) { return !length $self->{buffer} && !$self->fill(patience($seconds)) }

sub at_end ($self, $timeout = 5) {
    my $end = monotonic() + patience($timeout);
    1 while !$self->{eof} && $self->fill($end - monotonic());
    return $self->{eof} ? 1 : 0;
}

sub finish ($self) {
    shutdown $self->{socket}, SHUT_WR;
    $self->at_end;
    return $self->close;
}

sub close ($self) { CORE::close $self->{socket}; return }

sub abort ($self) {
    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
    return $self->close;
}

sub http2 ($port, $uri, @headers) {
    my @command = ('curl', '-s', '-i', '--http2-prior-knowledge', '--max-time', patience(10));
    while (my ($name, $value) = splice @headers, 0, 2) {
        push @command, '-H', "$name: $value";
    }
    open my $curl, '-|', @command, "http://127.0.0.1:$port$uri" or croak "curl: $!";
    binmode $curl;
    my $text = do { local $/; <$curl> };
    CORE::close $curl;
    croak 'curl failed with ' . ($? >> 8) if $?;
    return RateLimit::Response->take(\$text, eof => 1) // croak "not a response: $text";
}

sub h2load ($port, $uri, %opt) {
    my @command = ('h2load', '-n', $opt{requests} // 100, '-c', $opt{clients} // 1, '-m', $opt{streams} // 1);
    push @command, map { ('-H', $_) } @{$opt{headers} // []};
    open my $tool, '-|', @command, "http://127.0.0.1:$port$uri" or croak "h2load: $!";
    my $text = do { local $/; <$tool> };
    CORE::close $tool;
    my %count = reverse $text =~ /status codes: (.*)/ ? $1 =~ /(\d+) (\d)xx/g : croak "h2load: $text";
    ($count{failed}) = $text =~ /(\d+) failed/;
    return \%count;
}

1;
