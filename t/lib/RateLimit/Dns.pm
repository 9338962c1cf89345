package RateLimit::Dns;

# A name server on loopback, by UDP, for nginx's "resolver".
#
#   my $dns = RateLimit::Dns->start(names => {'redis.test' => '127.0.0.2'});
#   "resolver " . $dns->address . " ipv6=off;"
#   $dns->set('redis.test' => '127.0.0.3 127.0.0.4');    # addresses; an empty text: no such name
#   $dns->set('redis.test' => 'silence');                # no answer
#   $dns->set(at => 0.95);    # answers leave when that much of a second is over: with them goes the cache
#   $dns->records;                                       # [name, type] of each question

use v5.36;

use parent 'RateLimit::Server';
use Carp qw(croak);
use IO::Socket::INET;
use POSIX qw(fmod);
use Socket;
use Time::HiRes qw(sleep time);
use RateLimit::Process;

use constant {TYPE_A => 1, NO_SUCH_NAME => 3};

sub start ($class, %opt) { return $class->SUPER::start(%opt, state => {%{$opt{names} // {}}}) }

sub launch ($self) {
    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $self->{port}, Proto => 'udp')
        or croak "port $self->{port}: $@";
    socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or croak "socketpair: $!";
    $self->{process} = RateLimit::Process->start(
        run => sub { $self->serve($socket, $theirs) }, keep => [$socket, $theirs],
            name => "name server on $self->{port}");
    close $theirs;
    $ours->autoflush(1);
    $self->{control} = $ours;
    return;
}

sub serve ($self, $socket, $control) {
    $control->autoflush(1);
    open $self->{record}, '>>', $self->{record_path} or die "$self->{record_path}: $!";
    $self->{record}->autoflush(1);
    @$self{qw(open timers accepted)} = ({}, [], 0);
    my $commands = '';
    while (1) {
        my $read = '';
        vec($read, fileno $_, 1) = 1 for $socket, $control;
        next if select($read, undef, undef, undef) <= 0;
        if (vec $read, fileno $control, 1) {
            sysread $control, $commands, 65_536, length $commands or return;
            print {$control} $self->obeyed($1) while $commands =~ s/^(.*\n)//;
        }
        if (vec $read, fileno $socket, 1) {
            my $peer = recv $socket, my $question, 512, 0;
            my $answer = $self->answer_to($question);
            my $wait   = ($self->{state}{at} // 0) - fmod(time, 1);
            sleep $wait if $self->{state}{at} && $wait > 0;
            send $socket, $answer, 0, $peer if defined $answer;
        }
    }
}

sub obeyed ($self, $line) { return RateLimit::Server::line($self->obey(RateLimit::Server::words($line))) }

sub answer_to ($self, $packet) {
    my ($id, $flags, @counts) = unpack 'n6', $packet;
    my ($name, $at) = ('', 12);
    while (my $length = unpack 'C', substr $packet, $at, 1) {
        $name .= (length $name ? '.' : '') . substr $packet, $at + 1, $length;
        $at += 1 + $length;
    }
    my $question = substr $packet, 12, $at + 5 - 12;
    my $type     = unpack 'n', substr $packet, $at + 1, 2;
    $self->note(lc $name, $type);
    my $text = $self->{state}{lc $name} // '';
    return if $text eq 'silence';
    my @addresses = $type == TYPE_A ? split / /, $text : ();
    my $code = length $text ? 0 : NO_SUCH_NAME;
    # The name by a pointer to the question, class IN, and no time to live: the next question comes here too.
    my @answers = map { pack('n n n N n', 0xc00c, TYPE_A, 1, 0, 4) . inet_aton($_) } @addresses;
    return join '', pack('n6', $id, 0x8180 | $code, 1, scalar @answers, 0, 0), $question, @answers;
}

1;
