package RateLimit::Redis::Member;

# A server whose role Sentinel or Redis Cluster decides, of a RateLimit::Sentinels or a RateLimit::Cluster. What RateLimit::Redis
# offers, and:
#
#   $server->role;                 # by its own word: master or slave
#   $server->leader;               # by its own word: the member that it follows, undef for a primary
#   $server->wait_synced;          # it has all that its leader has had so far, whoever the leader is
#   $server->up;                   # neither ended nor frozen
#   $server->announced_port;       # the one of its address: that of TLS, if there is TLS
#   $server->restart;              # with what it was told meanwhile: its options are in a file, which Sentinel rewrites
#
# A connection that the server has closed is made again at the next command: Sentinel and Cluster close those of a demoted primary.
# Options beyond those of RateLimit::Redis: follows => MEMBER (at first), lines => [of the configuration], members => [all, shared].

use v5.36;

use parent 'RateLimit::Redis';
use Carp qw(croak);
use Socket qw(MSG_DONTWAIT MSG_PEEK);
use RateLimit::Folder;
use RateLimit::Process;
use RateLimit::Wait;

sub launch ($self) {
    my $file = "$self->{folder}/redis.conf";
    write_text($file, $self->configuration) if !-e $file;
    return $self->execute($file, $self->command_line);
}

sub command_line ($self) { return () }

# Each option of a command line, up to the next one, is a line of a file.
sub configuration ($self) {
    my @lines;
    for my $word ($self->options) {
        if    ($word =~ /^--(.+)/) { push @lines, $1 }
        else                       { $lines[-1] .= $word eq '' ? ' ""' : " $word" }
    }
    return join '', map { "$_\n" } @{$self->{acl} // []}, @lines, @{$self->{lines} // []};
}

sub options ($self) {
    my @options = $self->SUPER::options;
    push @options, '--tls-replication', 'yes' if $self->by_tls;
    if (my $leader = $self->{follows}) {
        push @options, '--replicaof', $leader->{name} // $leader->{host}, $leader->announced_port;
    }
    push @options, '--replica-announce-ip', $self->{name}, '--bind', $self->{host}, '-::1' if $self->{name};
    return @options;
}

sub by_tls ($self)         { return $self->{tls} && !$self->{tls}{beside} }
sub announced_port ($self) { return ($self->address =~ /:(\d+)$/)[0] }
sub up ($self)             { return $self->alive && RateLimit::Process::state_of($self->pid) ne 'T' }
sub role ($self)           { return $self->info('replication')->{role} }

sub wait_ready ($self) {
    $self->wait_answering;
    $self->forget_calls;
    return $self;
}

sub connection ($self) {
    my $socket = $self->{connection};
    if ($socket) {
        my $got = recv $socket, my $byte, 1, MSG_PEEK | MSG_DONTWAIT;
        delete $self->{connection} if defined $got ? $byte eq '' : !$!{EAGAIN};
    }
    return $self->SUPER::connection;
}

# Asked again where the server closes the connection just then.
sub info ($self, @section) { return eval { $self->SUPER::info(@section) } // $self->SUPER::info(@section) }

sub leader ($self) {
    my $port = $self->info('replication')->{master_port} // return;
    my ($leader) = grep { $_->announced_port == $port } @{$self->{members}};
    return $leader;
}

# By offsets: a marker could not be written where replicas are too few, nor to any server of a cluster.
sub wait_synced ($self, $timeout = 15) {
    my @how = (timeout => $timeout, what => "server $self->{port} to follow its primary");
    wait_until { ($self->info('replication')->{master_link_status} // '') eq 'up' } @how;
    my $leader = $self->leader or croak "server $self->{port} follows none of these";
    my $wanted = $leader->info('replication');
    wait_until {
        my $own = $self->info('replication');
        $own->{master_replid} eq $wanted->{master_replid}
            && ($own->{slave_repl_offset} // -1) >= $wanted->{master_repl_offset}
    } @how;
    return $self;
}

1;
