package RateLimit::Flood;

# More requests than a Perl client can make: h2load with HTTP/1.1, in a process of its own.
#
#   my $flood = RateLimit::Flood->start(
#       port => 8080, uris => ['/x?k=1', '/x?k=2'], requests => 100_000, connections => 16);
#   $flood->counts;    # waits for its end: {2 => n, 3 => n, 4 => n, 5 => n, seconds => s}
#   $flood->stop;      # ends it before: then only the server knows what it sent
#   $flood->answers;   # with log => 1, also after stop: ({at => time when it was sent, status, us => until its answer}, ...)
#
# Each connection begins with the first uri, and goes through them again and again. rate => N: requests a
# second and connection; spread => 1: connections begin one after another, so that their requests do not come all at once. The
# server closes connections unless keepalive_requests is high enough.

use v5.36;

use Carp qw(croak);
use RateLimit::Folder;
use RateLimit::Process;
use RateLimit::Wait;

my $started = 0;

sub start ($class, %opt) {
    my $file = sprintf '%s/flood-%d', test_folder(), ++$started;
    write_text("$file.uris", join '', map { "$_\n" } @{$opt{uris} // ['/x']});
    my @command = (
        'h2load', '--h1', '-n', $opt{requests}, '-c', $opt{connections} // 16, '-i', "$file.uris", '-B',
        "http://127.0.0.1:$opt{port}", $opt{rate} ? "--rps=$opt{rate}" : (), $opt{log} ? "--log-file=$file.log" : (),
        $opt{spread} ? begin_over(1 / $opt{rate}, $opt{connections}) : ());
    my $process = RateLimit::Process->start(command => \@command, output => "$file.out", name => 'h2load');
    return bless {process => $process, output => "$file.out", log => "$file.log"}, $class;
}

# Connections begin over so many seconds: many a millisecond, or one in so many.
sub begin_over ($seconds, $connections) {
    my $each = 1000 * $seconds / $connections;
    return ('-r', $each < 1 ? int(1 / $each) : 1, '--rate-period=' . ($each < 1 ? 1 : int $each) . 'ms');
}

sub counts ($self, $timeout = 180) {
    $self->{process}->wait($timeout) or croak 'h2load does not end: ' . read_text($self->{output});
    my $text = read_text($self->{output});
    my ($statuses) = $text =~ /status codes: (.*)/ or croak "h2load: $text";
    my %counts = reverse $statuses =~ /(\d+) (\d)xx/g;
    my ($seconds, $unit) = $text =~ /finished in ([\d.]+)(m?s)/ or croak "h2load: $text";
    $counts{seconds} = $unit eq 'ms' ? $seconds / 1000 : $seconds;
    return \%counts;
}

# The last line may be cut.
sub answers ($self) {
    return map { /^(\d+)\t(-?\d+)\t(\d+)$/ ? {at => $1 / 1e6, status => $2, us => $3} : () } split /\n/, read_text($self->{log});
}

sub stop ($self) { $self->{process}->kill; return }

1;
