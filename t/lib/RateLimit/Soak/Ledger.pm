package RateLimit::Soak::Ledger;

# The charges that all servers together have executed, whatever became of them: MONITOR on each of them, in a process of its own.
# A charge that a former primary took counts here although its successor never gets it. So this tells what nginx has sent, each command
# once, apart from what Redis has lost since.
#
#   my $ledger = RateLimit::Soak::Ledger->new(test_folder(), 'check_charge/86400', ...);    # the windows that are looked at
#   $ledger->follow($server);                  # from now on, over its restarts; returns when all that clients do is seen
#   $ledger->leave($server);                   # one that is removed: its sums stay
#   $ledger->executed('check_charge/86400');   # added, less what was given back, by all servers so far
#   $ledger->executed_by($server);             # its part: {WINDOW => N}
#   $ledger->settled($server);                 # waits until all that it has executed is seen, if clients have left it; returns executed_by
#   $ledger->opened('check_charge/86400');     # how many windows were opened
#   $ledger->last_write($server);              # when it executed a client's write last, of the wall clock; 0: never
#   $ledger->gaps;                             # how often a server was not followed for a while, for it closed the connection
#
# Commands are not seen that a server executes within the milliseconds before it is killed, and, where it closes all connections as it
# changes its role, what clients send before this connects again.

use v5.36;

use IO::Socket::INET;
use List::Util qw(sum0);
use RateLimit::Folder;
use RateLimit::Process;
use RateLimit::Wait;

# Servers have lower ports than connections of clients: so commands of a primary to its replica are told from those of clients.
use constant {FIRST_PORT_OF_CLIENTS => 32_768};

sub new ($class, $folder, @windows) { return bless {folder => $folder, windows => \@windows, followers => {}}, $class }

sub file_of ($self, $server) { return "$self->{folder}/executed-$server->{port}" }

sub follow ($self, $server) {
    my $file = $self->file_of($server);
    $self->{followers}{$server->{port}} = RateLimit::Process->start(
        name => "what is executed on $server->{port}", run => sub { $self->watch($server->{port}, $file) });
    wait_until { ($self->page($file)->{connected} // 0) > 0 } what => "MONITOR on $server->{port}";
    return;
}

sub leave ($self, $server) { $self->{followers}{$server->{port}}->kill; return }

# In a process of its own, from here to count().
sub watch ($self, $port, $file) {
    open my $out, '>', $file or die "$file: $!";
    $out->autoflush(1);
    my %page = (connected => 0, last => 0, map { ($_ => 0, "opened $_" => 0) } @{$self->{windows}});
    while (1) {
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 1);
        if ($socket && syswrite $socket, "MONITOR\r\n") {
            my $buffer = '';
            while (sysread $socket, $buffer, 262_144, length $buffer) {
                $self->count(\%page, $1) while $buffer =~ s/^(.*)\n//;
                seek $out, 0, 0;
                print {$out} map { sprintf "%-40s %018.6f\n", $_, $page{$_} } sort keys %page;
            }
        }
        select undef, undef, undef, 0.003;
    }
    return;
}

# A script's own commands follow it.
sub count ($self, $page, $line) {
    if ($line =~ /^\+OK/) {
        $page->{connected}++;
        return;
    }
    my ($at, $port, $text) = $line =~ /^\+([\d.]+) \[\d+ (?:lua|\S+:(\d+))\] (.*"rl:.*)/ or return;
    return if $port && $port < FIRST_PORT_OF_CLIENTS;
    my ($command, @words) = $text =~ /"((?:[^"\\]|\\.)*)"/g;
    $self->{script} = {cost => $words[3]} if $command =~ /^eval/i;
    my ($window) = $words[0] =~ /^rl:([^:]+):/;
    return if !$window || !exists $page->{$window} || ($words[1] // '') ne 'used' || $command !~ /^(hincrby|hset)$/i;
    my ($field, $value) = map { $_ // '' } @words[3, 4];
    $page->{"opened $window"}++ if $field eq 'reset';
    $page->{$window} += $self->added($words[2], $field, $value);
    $page->{last} = $at;
    return;
}

# HSET of used and reset opens a window: on what was there before nothing is known here, and there should be nothing. With the number of a
# batch it says what the whole count is now, and how large the batch was; with that of a refund the script was told what it gives back.
sub added ($self, $count, $field, $value) {
    my $script = $self->{script};
    if ($field =~ /^g:/) {
        my ($number, $granted) = split / /, $value;
        return $script->{opened} ? 0 : $granted;
    }
    $script->{opened} = $field eq 'reset';
    return $field =~ /^r:/ ? -$script->{cost} : $count;
}

sub page ($self, $file) { return {map { /^(\S+(?: \S+)?) +([\d.-]+)$/ ? ($1 => $2) : () } split /\n/, read_text($file)} }

sub sum ($self, $what) {
    return sum0(map { $self->page("$self->{folder}/executed-$_")->{$what} // 0 } keys %{$self->{followers}});
}

sub executed ($self, $window)   { return $self->sum($window) }
sub executed_by ($self, $server) {
    my $page = $self->page($self->file_of($server));
    return {map { $_ => $page->{$_} } @{$self->{windows}}};
}

sub settled ($self, $server) {
    my ($now, $last) = ('', '');
    wait_until {
        ($now, $last) = (join(' ', @{$self->executed_by($server)}{@{$self->{windows}}}), $now);
        let_pass(0.1);
        $now eq $last
    } what => "all lines of MONITOR on $server->{port}";
    return $self->executed_by($server);
}

sub opened ($self, $window)     { return $self->sum("opened $window") }
sub last_write ($self, $server) { return $self->page($self->file_of($server))->{last} }
sub gaps ($self)                { return $self->sum('connected') - keys %{$self->{followers}} }

1;
