package RateLimit::FullLog;

# An access log of nginx that has room for one line: the worker that writes the next one is held up, in the middle of a turn of its event loop,
# until the test reads a line.
#
#   my $log = RateLimit::FullLog->new;
#   ... http => $log->format, server => 'location /log { ' . $log->directive . ' }'
#   $log->read_line;    # true: there was one, and who waits for its room goes on

use v5.36;

use Fcntl qw(O_RDWR O_NONBLOCK);
use POSIX qw(mkfifo);
use RateLimit::Folder;

use constant {LINE => 3000, PIPE => 4096, F_SETPIPE_SZ => 1031};    # bytes; two lines do not fit

my $count = 0;

sub new ($class) {
    my $path = test_folder() . '/full-log-' . $count++;
    mkfifo($path, 0600) or die "mkfifo: $!";
    sysopen(my $pipe, $path, O_RDWR | O_NONBLOCK) or die "$path: $!";
    fcntl($pipe, F_SETPIPE_SZ, PIPE) or die "F_SETPIPE_SZ: $!";
    return bless {path => $path, pipe => $pipe}, $class;
}

sub format ($self)    { return "log_format full_log '" . 'x' x (LINE - 1) . "';" }
sub directive ($self) { return "access_log $self->{path} full_log;" }
sub read_line ($self) { return (sysread($self->{pipe}, my $bytes, LINE) // 0) == LINE }

1;
