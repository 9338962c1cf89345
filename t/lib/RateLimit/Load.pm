package RateLimit::Load;

# Many requests over many keep-alive connections, from this process.
#
#   my @responses = parallel(port => 8080, connections => 400, requests => 4000, uri => '/x',
#                            headers => ['X-Key' => 'a']);
#   my @responses = parallel(port => 8080, connections => 4,
#                            requests => [['/x', 'X-Key' => 'a'], ['/y'], ...]);
#   my @statuses = storm(\@nginx, connections => 100, ...);    # requests to each of two at the same time: all their statuses
#   my $count = statuses(@responses);     # {200 => 5, 429 => 3995}
#
# port => [PORT, ...]: connections lead to them in turn.
#
# Responses come in the order of the requests. A connection that the server closes is opened again; a
# request that got no answer has a response of status 0. keepalive => 0: a connection for each request;
# timeout => SECONDS for the whole run (default 120).

use strict;
use warnings;
use feature 'signatures';

use Carp qw(croak);
use Errno qw(EAGAIN EINPROGRESS EINTR);
use Exporter 'import';
use Socket qw(:DEFAULT SOCK_NONBLOCK IPPROTO_TCP TCP_NODELAY);
use RateLimit::Folder;
use RateLimit::HTTP;
use RateLimit::Process;
use RateLimit::Response;
use RateLimit::Wait;

our @EXPORT = qw(parallel storm statuses);

sub parallel (%opt) {
    my @texts = ref $opt{requests}
        ? map { my ($uri, @headers) = @$_; text($uri, \@headers, %opt) } @{$opt{requests}}
        : (text($opt{uri} // '/', $opt{headers} // [], %opt)) x $opt{requests};
    my $run = bless {
        texts => \@texts, next => 0, responses => [], open => {}, read => '', write => '',
        keepalive => $opt{keepalive} // 1, method => $opt{method} // 'GET',
        peers => [map { pack_sockaddr_in($_, INADDR_LOOPBACK) } ref $opt{port} ? @{$opt{port}} : $opt{port}],
    }, __PACKAGE__;
    my $connections = $opt{connections} // 10;
    $connections = @texts if $connections > @texts;
    $run->connect_next for 1 .. $connections;

    local $SIG{PIPE} = 'IGNORE';
    my $end = monotonic() + patience($opt{timeout} // 120);
    while (%{$run->{open}}) {
        croak 'requests without an answer: ' . keys %{$run->{open}} if monotonic() > $end;
        my $ready = select my $read = $run->{read}, my $write = $run->{write}, undef, 1;
        next if $ready <= 0;
        for my $number (keys %{$run->{open}}) {
            $run->writable($run->{open}{$number}) if vec $write, $number, 1;
            $run->readable($run->{open}{$number}) if vec($read, $number, 1) && $run->{open}{$number};
        }
    }
    return @{$run->{responses}};
}

sub storm ($machines, %load) {
    my ($here, $there) = @$machines;
    my $file  = $there->folder . '/storm';
    my $other = RateLimit::Process->start(name => 'storm', run => sub {
        write_text($file, join "\n", map { $_->status } $there->parallel(%load));
    });
    my @statuses = map { $_->status } $here->parallel(%load);
    $other->wait(60) or croak 'the storm does not end';
    return @statuses, split /\n/, read_text($file);
}

sub text ($uri, $headers, %opt) {
    my @close = $opt{keepalive} // 1 ? () : (Connection => 'close');
    return RateLimit::HTTP::text_of($opt{method} // 'GET', $uri, [@$headers, @close], $opt{body});
}

sub connect_next ($run) {
    return if $run->{next} >= @{$run->{texts}};
    socket my $socket, PF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0 or croak "socket: $!";
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    my $peer = $run->{peers}[$run->{turn}++ % @{$run->{peers}}];
    connect $socket, $peer or $! == EINPROGRESS or croak "connect: $!";
    my $number = fileno $socket;
    my $connection = $run->{open}{$number} = {socket => $socket, number => $number, buffer => ''};
    vec($run->{read}, $number, 1) = 1;
    $run->give($connection);
    return;
}

# Gives the connection the next request; it is written once the socket can take it.
sub give ($run, $connection) {
    $connection->{request} = $run->{next}++;
    $connection->{out}     = $run->{texts}[$connection->{request}];
    vec($run->{write}, $connection->{number}, 1) = 1;
    return;
}

sub writable ($run, $connection) {
    my $sent = syswrite $connection->{socket}, $connection->{out};
    if (!defined $sent) {
        return if $! == EAGAIN || $! == EINTR;
        return $run->finish($connection, undef, 1);
    }
    substr $connection->{out}, 0, $sent, '';
    vec($run->{write}, $connection->{number}, 1) = 0 if !length $connection->{out};
    return;
}

sub readable ($run, $connection) {
    my $got = sysread $connection->{socket}, $connection->{buffer}, 65_536, length $connection->{buffer};
    return if !defined $got && ($! == EAGAIN || $! == EINTR);
    my $response = RateLimit::Response->take(
        \$connection->{buffer}, method => $run->{method}, eof => !$got);
    $run->finish($connection, $response, !$got) if $response || !$got;
    return;
}

sub finish ($run, $connection, $response, $ended) {
    my %nothing = (status => 0, head => '', lines => 0, body => '', headers => []);
    $response //= bless \%nothing, 'RateLimit::Response';
    $run->{responses}[$connection->{request}] = $response;
    if ($ended || !$run->{keepalive} || $response->closes) {
        vec($run->{$_}, $connection->{number}, 1) = 0 for qw(read write);
        delete $run->{open}{$connection->{number}};
        close $connection->{socket};
        $run->connect_next;
    } elsif ($run->{next} < @{$run->{texts}}) {
        $run->give($connection);
    } else {
        vec($run->{read}, $connection->{number}, 1) = 0;
        delete $run->{open}{$connection->{number}};
    }
    return;
}

sub statuses (@responses) {
    my %count;
    $count{$_->status}++ for @responses;
    return \%count;
}

1;
