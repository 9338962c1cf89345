package RateLimit::HotKeys;

# Requests of which a part is one key's, minute by minute, and the log lines that name such keys.
#
#   my $hot = RateLimit::HotKeys->new($nginx);      # an nginx with clock => 1, whose clock stands still from now on
#   $hot->flood(12_000, '/x?k=hot' => 30, '/x?k=*' => 70);       # so many requests, in this mixture; another number for each *
#   $hot->next_minute;                  # the clock goes on by one
#   $hot->wait_lines(1);                # until so many lines have been logged, by all minutes
#   $hot->lines;                        # each {limit, percent, commands, shard, store, id, remedy}, the first first
#   $hot->commands('a');              # how many the console at /limits/ says that the nodes of that shard were sent, in all minutes
#   $hot->id_of('/x?k=hot');            # the log's name of that key: add_header X-Id $rate_limit_id

use v5.36;

use Carp qw(croak);
use List::Util qw(sum0);
use Time::HiRes qw(sleep);
use RateLimit::Flood;
use RateLimit::Wait;

sub new ($class, $nginx) {
    my $self = bless {nginx => $nginx, minute => 60 * int(time / 60) + 3610, number => 0}, $class;
    return $self->stand;
}

# Ten seconds after the minute's begin. Workers look at the clock once a second; who is answered after that comes after the look.
sub stand ($self) {
    $self->{nginx}->stand_at($self->{minute});
    sleep 1.5;
    $self->{nginx}->get('/limits/');
    return $self;
}

sub next_minute ($self) { $self->{minute} += 60; return $self->stand }

sub flood ($self, $requests, %parts) {
    my $sum = sum0(values %parts);
    my %due = map { $_ => 0 } keys %parts;
    my @uris;
    for (1 .. 10 * $sum) {
        $due{$_} += $parts{$_} for keys %parts;
        my ($next) = sort { $due{$b} <=> $due{$a} || $a cmp $b } keys %due;
        $due{$next} -= $sum;
        push @uris, $next =~ s/\*/'k' . ++$self->{number}/er;
    }
    my $counts = RateLimit::Flood->start(port => $self->{nginx}->port, uris => \@uris, requests => $requests, connections => 64)->counts;
    $counts->{2} == $requests or croak "of $requests requests $counts->{2} have passed";
    return $self;
}

sub lines ($self) {
    my $line = qr/\[warn\] .*rate limit "(.*)": one key makes (\d+)% of the (\d+) commands that this nginx sent in a minute to (?:shard|the nodes of) "(.*)" of "(.*)", id ([\da-f]{16}): (.*)/;
    return map { /$line/ ? {limit => $1, percent => $2, commands => $3, shard => $4, store => $5, id => $6, remedy => $7} : () }
        split /\n/, $self->{nginx}->error_log;
}

sub wait_lines ($self, $count) {
    return wait_until { $self->lines >= $count } what => "$count lines that name hot keys", timeout => 20;
}

sub commands ($self, $shard) {
    return sum0($self->{nginx}->get('/limits/metrics')->body =~ /node_commands_total\{[^}]*shard="\Q$shard\E"[^}]*\} (\d+)/g);
}

sub id_of ($self, $uri) { return $self->{nginx}->get($uri)->header('X-Id') }

1;
