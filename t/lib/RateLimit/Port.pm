package RateLimit::Port;

# Free loopback ports above those that tools/run takes, and below the range the kernel hands out for outgoing connections.
# Parallel tests are kept apart by a name of a socket for each port, bound until the test and all that it has forked end. Such a
# name is of the network namespace, as ports are, and no file: whoever is killed leaves nothing behind.

use v5.36;

use Exporter 'import';
use IO::Socket::INET;
use Socket;

our @EXPORT = qw(free_port);

use constant {FIRST => 24_000, COUNT => 8_000};

my $next = ($$ * 37) % COUNT;
my @claims;

sub free_port () {
    for (1 .. COUNT) {
        my $port = FIRST + $next++ % COUNT;
        my $claim = claim($port) or next;
        my $socket = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 1, ReuseAddr => 1) or next;
        close $socket;
        push @claims, $claim;
        return $port;
    }
    die 'no free port';
}

# Undef where a test has it. A name that begins with a zero byte is in no folder (unix(7), "abstract").
sub claim ($port) {
    socket my $claim, AF_UNIX, SOCK_DGRAM, 0 or die "socket: $!";
    return bind($claim, pack_sockaddr_un("\0rate-limit-test-port-$port")) ? $claim : undef;
}

1;
