package RateLimit::Server;

# The base of the servers that a test scripts: a forked process with one select loop over all its
# connections. A subclass has in_child (optional), accepted($conn), received($conn), ended($conn) and
# encode($value), which makes bytes of what a handler returned.
#
#   $server->port;  $server->address;  # options: port, host (an address of loopback)
#   $server->set(name => 'value');     # $conn->state('name') reads it; in force when set returns
#   $server->release('gate');          # answers that wait by $conn->hold('gate', ...) leave
#   $server->drop;                     # closes every connection (drop(1): by reset)
#   $server->stop;  $server->restart;  # connections refused; the same port again
#   $server->freeze;  $server->thaw;
#   $server->records;                  # all that it wrote down: a list of [words]
#   $server->connections;              # how many it has accepted
#
# For handlers, answers go out in the order of the questions:
#   return $value;                     # now
#   return;                            # never; later answers are not kept back
#   return $conn->hold('gate', $value);     # when the test releases the gate
#   return $conn->later(0.2, $value);       # after that time
#   $conn->send(BYTES);                # at once, past the order
#   $conn->close;  $conn->close(1);    # after what is queued was written; by reset, at once
#   $conn->state('name');  $conn->number;

use v5.36;

use Carp qw(croak);
use IO::Socket::INET;
use Socket;
use RateLimit::Folder;
use RateLimit::Port;
use RateLimit::Process;
use RateLimit::Server::Connection;
use RateLimit::Wait;

sub start ($class, %opt) {
    my $self = bless {host => '127.0.0.1', %opt, port => $opt{port} // free_port()}, $class;
    $self->{record_path} = test_folder() . "/server-$self->{host}-$self->{port}";
    $self->launch;
    return $self;
}

sub launch ($self) {
    my $listener = IO::Socket::INET->new(
        LocalAddr => $self->{host}, LocalPort => $self->{port}, Listen => 1024, ReuseAddr => 1, Blocking => 0)
        or croak "port $self->{port}: $@";
    socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or croak "socketpair: $!";
    $self->{process} = RateLimit::Process->start(
        run => sub { $self->serve($listener, $theirs) }, keep => [$listener, $theirs],
        name => ref($self) . " on $self->{port}");
    close $theirs;
    $ours->autoflush(1);
    $self->{control} = $ours;
    return;
}

sub port ($self)    { return $self->{port} }
sub address ($self) { return "$self->{host}:$self->{port}" }
sub freeze ($self)  { $self->{process}->freeze; return $self }
sub thaw ($self)    { $self->{process}->thaw; return $self }
sub stop ($self)    { $self->{process}->kill; close $self->{control}; return $self }
sub restart ($self) { $self->{process}->kill; $self->launch; return $self }

sub set ($self, $name, $value) { return $self->tell('set', $name, $value) }
# Sets a state and forgets what was received, in one step: every command that is told of later was answered in the new state.
sub set_and_forget ($self, $name, $value) { return $self->tell('set_and_forget', $name, $value) }
sub release ($self, $gate)     { return $self->tell('release', $gate) }
sub drop ($self, $reset = 0)   { return $self->tell('drop', $reset) }
sub connections ($self)        { return $self->ask('connections') }

sub tell ($self, @words) { $self->ask(@words); return $self }

sub ask ($self, @words) {
    local $SIG{PIPE} = 'IGNORE';
    print {$self->{control}} line(@words);
    my $answer = readline $self->{control};
    croak ref($self) . " on $self->{port} is gone" if !defined $answer;
    return (words($answer))[0];
}

sub records ($self) { return map { [words($_)] } read_text($self->{record_path}) =~ /(.*\n)/g }

sub forget ($self) { return $self->tell('forget') }

sub line (@words) {
    my @escaped = map { ($_ // '') =~ s/([^\x21-\x24\x26-\x7e])/sprintf '%%%02x', ord $1/ger } @words;
    return join("\t", @escaped) . "\n";
}

sub words ($line) {
    chomp $line;
    return map { s/%([0-9a-f]{2})/chr hex $1/ger } split /\t/, $line, -1;
}

# From here on in the child.

sub serve ($self, $listener, $control) {
    $control->autoflush(1);
    open $self->{record}, '>>', $self->{record_path} or die "$self->{record_path}: $!";
    $self->{record}->autoflush(1);
    @$self{qw(listener open state timers accepted)} = ($listener, {}, $self->{state} // {}, [], 0);
    $self->in_child;
    my $commands = '';
    while (1) {
        my ($read, $write) = ('', '');
        vec($read, fileno $_, 1) = 1 for $listener, $control;
        for my $conn (values %{$self->{open}}) {
            vec($read, $conn->number, 1) = 1 if !$conn->{paused};
            vec($write, $conn->number, 1) = 1 if $conn->wants_write;
        }
        my $ready = select $read, $write, undef, $self->next_timer;
        if ($ready > 0) {
            if (vec $read, fileno $control, 1) {
                sysread $control, $commands, 65_536, length $commands or return;
                print {$control} line($self->obey(words($1))) while $commands =~ s/^(.*\n)//;
            }
            for my $number (keys %{$self->{open}}) {
                my $conn = $self->{open}{$number} or next;
                $conn->write_out if vec $write, $number, 1;
                $conn->read_in if !$conn->{gone} && vec $read, $number, 1;
            }
            $self->accept_all if vec $read, fileno $listener, 1;
        }
        $self->run_timers;
    }
}

sub accept_all ($self) {
    while (my $socket = $self->{listener}->accept) {
        $self->{accepted}++;
        $self->accepted($self->adopt($socket));
    }
    return;
}

sub adopt ($self, $socket) {
    my $conn = RateLimit::Server::Connection->new($self, $socket);
    return $self->{open}{$conn->number} = $conn;
}

sub obey ($self, $verb, @words) {
    my @open = values %{$self->{open}};
    if ($verb eq 'set') {
        $self->{state}{$words[0]} = $words[1];
    } elsif ($verb eq 'set_and_forget') {
        $self->obey($_, @words) for 'set', 'forget';
    } elsif ($verb eq 'release') {
        $_->release($words[0]) for @open;
    } elsif ($verb eq 'drop') {
        $_->cut($words[0]) for @open;
    } elsif ($verb eq 'forget') {
        truncate $self->{record}, 0;
    } elsif ($verb eq 'connections') {
        return $self->{accepted};
    }
    return 'done';
}

sub after ($self, $seconds, $action) { return $self->at(monotonic() + $seconds, $action) }

# At one time what was asked for first comes first.
sub at ($self, $due, $action) {
    my $timers = $self->{timers};
    my $sorted = !@$timers || $timers->[-1][0] <= $due;
    push @$timers, [$due, $action];
    @$timers = sort { $a->[0] <=> $b->[0] } @$timers if !$sorted;
    return;
}

sub next_timer ($self) {
    my $first = $self->{timers}[0] // return;
    my $seconds = $first->[0] - monotonic();
    return $seconds > 0 ? $seconds : 0;
}

sub run_timers ($self) {
    while (@{$self->{timers}} && $self->{timers}[0][0] <= monotonic()) {
        (shift @{$self->{timers}})->[1]->();
    }
    return;
}

sub note ($self, @words) { print {$self->{record}} line(@words); return }

sub in_child ($self)         { return }
sub accepted ($self, $conn)  { return }
sub ended ($self, $conn)     { return }
sub encode ($self, $value)   { return $value }

1;
