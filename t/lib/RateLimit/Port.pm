package RateLimit::Port;

# Free loopback ports below the range the kernel hands out for outgoing connections. A lock on a file
# of the port's name, held until the test ends, keeps parallel tests apart.

use v5.36;

use Exporter 'import';
use Fcntl qw(:flock O_CREAT O_RDWR);
use File::Spec;
use IO::Socket::INET;

our @EXPORT = qw(free_port);

use constant {FIRST => 20_000, COUNT => 12_000};

my $next = ($$ * 37) % COUNT;
my @locks;

sub free_port () {
    my $folder = File::Spec->tmpdir . "/rate-limit-test-ports.$>";
    mkdir $folder;
    for (1 .. COUNT) {
        my $port = FIRST + $next++ % COUNT;
        sysopen my $lock, "$folder/$port", O_CREAT | O_RDWR or die "$folder/$port: $!";
        next if !flock $lock, LOCK_EX | LOCK_NB;
        my $socket = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 1, ReuseAddr => 1) or next;
        close $socket;
        push @locks, $lock;
        return $port;
    }
    die 'no free port';
}

1;
