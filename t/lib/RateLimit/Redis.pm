package RateLimit::Redis;

# A real redis-server on loopback, and a connection to it.
#
#   my $primary = RateLimit::Redis->start;
#   my $replica = RateLimit::Redis->start(replica_of => $primary);
#
# Options: replica_of, appendonly => 1 (fsync always), unixsocket => 1, password => 'x', binary => FILE (default: REDIS_SERVER of the
# environment, else redis-server),
# timeless => 1: a server whose scripts must not ask for the time, see timeless_block of RateLimit::Shards;
# acl => ['user alice on >secret ~* &* +@all'], args => ['--name', 'value', ...], wait => 0,
# own_time => 1 (see travel),
# tls => {certificate => FILE, key => FILE}: the address is that of a TLS port then, and the test itself goes on in clear text. More
# in tls: authority => FILE (clients need a certificate of it), trusted => FILE (the authority of the servers' own connections, where
# clients need none), protocols => 'TLSv1.2', beside => 1 (the address stays; see tls_port).
#
#   $redis->cmd('HGET', $key, 'used');          # dies on an error reply
#   $redis->ask('HGET', $key, 'used');          # returns an error reply as RateLimit::RESP::Error
#   $redis->pipeline(['SET', 'a', 1], ['GET', 'a']);   # all answers, errors as objects
#   $redis->script($text);                      # SCRIPT LOAD: the digest
#   $redis->calls('hmget');                     # how often clients called it since start or forget_calls; of several: together
#   $redis->script_calls;                       # how often they called scripts
#   $redis->forget_calls;  $redis->keys;  $redis->flush;  $redis->info('replication')->{role};
#   $redis->hash($key);                         # all fields as a hash reference
#   $redis->stored('alice', 'core/60');         # the fields of a limit's window: of rl:core/60:alice; default/3600 is the default
#   $redis->used('alice', 'core/60');           # how much is used of it, 0 when there is no such window
#   $redis->used_of('core/60', @keys);          # a list, of many at once
#   $redis->bucket($key);                       # (nanoseconds until that bucket is full, the longest time to fill it); nothing: none
#   $redis->used_by_key;                        # all windows: {KEY => USED}
#   $redis->hold_only($key, 5000, used => 1);   # nothing else; expires in so many milliseconds, undef: never
#   $redis->expires_in($key, 5000);             # or up to 900 ms less
#   $replica->wait_synced;                      # everything written on the primary so far is readable here
#   $redis->wait_connected;                     # a worker of nginx has connected, and has sent no command of a request yet
#   $redis->travel(31);                         # with own_time => 1: its wall clock is so many seconds ahead
#   $redis->kill_in_turn;                       # what it had answered its replicas have got, too: nothing is lost that is not in doubt
#   $redis->kill;  $redis->stop;  $redis->freeze;  $redis->thaw;  $redis->restart;  $redis->drop_clients;
#   $redis->port;  $redis->address;             # host:port, or unix:PATH with unixsocket
#   start(host => '127.0.0.2', port => N): at another address of this machine

use v5.36;

use Carp qw(croak);
use IO::Socket::INET;
use List::Util qw(sum0);
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use RateLimit::Folder;
use RateLimit::Port;
use RateLimit::Process;
use RateLimit::RESP;
use RateLimit::Wait;

my $markers = 0;

# Redis's wall clock is gettimeofday(); its allocator does not bear libfaketime.
my $own_time = <<'C';
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int gettimeofday(struct timeval* restrict now, void* restrict zone) {
    struct timespec real;
    char text[20] = {0};
    int file = open(getenv("REDIS_AHEAD"), O_RDONLY | O_CLOEXEC);
    long ahead = file >= 0 && read(file, text, 19) > 0 ? atol(text) : 0;
    if (file >= 0) close(file);
    clock_gettime(CLOCK_REALTIME, &real);
    now->tv_sec = real.tv_sec + ahead;
    now->tv_usec = real.tv_nsec / 1000;
    return 0;
}
C

sub start ($class, %opt) {
    my $port   = $opt{port} // free_port();
    my $host   = $opt{host} // '127.0.0.1';
    my $folder = test_folder() . '/redis-' . ($opt{host} ? "$host-$port" : $port);
    mkdir $folder or die "$folder: $!";
    $opt{acl} //= ['user default on nopass ~* &* +@all', 'user nginx on >secret ~rl:* +@all -time -bitfield'] if $opt{timeless};
    my $binary = $opt{binary} || $ENV{REDIS_SERVER} || 'redis-server';
    my $self = bless {%opt, binary => $binary, host => $host, port => $port, folder => $folder}, $class;
    $self->launch;
    $self->wait_ready if $opt{wait} // 1;
    return $self;
}

sub launch ($self) {
    my @users;
    # Users can only come from a file: on the command line their words would be options.
    if ($self->{acl}) {
        @users = write_text("$self->{folder}/redis.conf", join '', map { "$_\n" } @{$self->{acl}});
    }
    return $self->execute(@users, $self->options);
}

sub options ($self) {
    my @options = (
        '--port', $self->{port}, '--bind', $self->{host}, '--daemonize', 'no',
        '--dir', $self->{folder}, '--logfile', "$self->{folder}/log", '--save', '',
        '--appendonly', ($self->{appendonly} ? ('yes', '--appendfsync', 'always') : 'no'),
        '--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', 0, '--repl-ping-replica-period', 1,
        '--enable-debug-command', 'local',
    );
    push @options, '--unixsocket', $self->socket_path if $self->{unixsocket};
    push @options, '--requirepass', $self->{password}, '--masterauth', $self->{password}
        if defined $self->{password};
    if (my $primary = $self->{replica_of}) {
        push @options, '--replicaof', '127.0.0.1', $primary->port;
        push @options, '--masterauth', $primary->{password} if defined $primary->{password};
    }
    push @options, $self->tls_options if $self->{tls};
    return (@options, @{$self->{args} // []});
}

sub execute ($self, @arguments) {
    delete $self->{connection};
    $self->{process} = RateLimit::Process->start(
        command => [$self->{binary}, @arguments], output => "$self->{folder}/output", name => "redis-server $self->{port}",
        env => $self->{own_time} ? $self->time_env : {});
    return;
}

sub time_env ($self) {
    my $library = test_folder() . '/redis-time';
    if (!-e "$library.so") {
        write_text("$library.c", $own_time);
        system('cc', '-shared', '-fPIC', '-O1', '-o', "$library.so", "$library.c") == 0 or croak 'no own time for Redis';
    }
    return {LD_PRELOAD => "$library.so", REDIS_AHEAD => "$self->{folder}/ahead"};
}

sub travel ($self, $seconds) { write_text("$self->{folder}/ahead", $seconds); return $self }

sub wait_ready ($self) {
    $self->wait_answering;
    $self->wait_synced if $self->{replica_of};
    $self->forget_calls;
    return $self;
}

sub wait_answering ($self) {
    wait_until {
        croak 'redis-server ended: ' . $self->log if !$self->{process}->alive;
        my $pong = eval { $self->ask('PING') };
        defined $pong && $pong eq 'PONG'
    } timeout => 10, what => "redis-server on $self->{port}";
    return $self;
}

# A check that comes before is asked of the first server that is connected, and perhaps of no other.
sub wait_connected ($self) {
    wait_until { $self->cmd('CLIENT', 'LIST', 'TYPE', 'normal') =~ / cmd=ping / } what => "nginx to connect to redis on $self->{port}";
    return $self;
}

sub wait_synced ($self, $timeout = 15) {
    my $primary = $self->{replica_of} or croak 'not a replica';
    my $marker  = sprintf 'marker-%d-%d', $$, ++$markers;
    wait_until { ($self->info('replication')->{master_link_status} // '') eq 'up' }
        timeout => $timeout, what => "replica $self->{port} to link";
    my @how = (timeout => $timeout, what => "replica $self->{port} to follow");
    $primary->cmd('SET', $marker, 1);
    wait_until { $self->cmd('EXISTS', $marker) } @how;
    $primary->cmd('DEL', $marker);
    wait_until { !$self->cmd('EXISTS', $marker) } @how;
    return $self;
}

sub port ($self)        { return $self->{port} }
sub tls_port ($self)    { return $self->{tls_port} }
sub pid ($self)         { return $self->{process}->pid }
sub socket_path ($self) { return "$self->{folder}/redis.sock" }

sub tls_options ($self) {
    my $tls = $self->{tls};
    $self->{tls_port} //= free_port();
    return (
        '--tls-port', $self->{tls_port}, '--tls-cert-file', $tls->{certificate}, '--tls-key-file', $tls->{key},
        '--tls-ca-cert-file', $tls->{authority} // $tls->{trusted} // $tls->{certificate},
        '--tls-auth-clients', $tls->{authority} ? 'yes' : 'no',
        $tls->{protocols} ? ('--tls-protocols', $tls->{protocols}) : (),
    );
}

sub address ($self) {
    return 'unix:' . $self->socket_path if $self->{unixsocket};
    my $tls = $self->{tls} && !$self->{tls}{beside};
    return "$self->{host}:" . ($tls ? $self->{tls_port} : $self->{port});
}

sub log ($self) { return join '', map { read_text("$self->{folder}/$_") } qw(output log) }

sub connection ($self) {
    return $self->{connection} if $self->{connection};
    my $socket = IO::Socket::INET->new(
        PeerAddr => $self->{host} // '127.0.0.1', PeerPort => $self->{port}, Timeout => patience(5))
        or die "redis-server on $self->{port}: $@\n";
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    $self->{connection} = $socket;
    $self->{buffer}     = '';
    $self->cmd('AUTH', $self->{password}) if defined $self->{password};
    return $socket;
}

sub ask ($self, @words) { return ($self->pipeline(\@words))[0] }

sub cmd ($self, @words) {
    my $value = $self->ask(@words);
    croak "redis-server on $self->{port}: @words[0..0]: $value" if ref $value eq 'RateLimit::RESP::Error';
    return $value;
}

# Writes and reads take turns, so that neither side's socket buffer can fill up for good.
sub pipeline ($self, @commands) {
    my $socket = $self->connection;
    my ($out, @values) = (join '', map { RateLimit::RESP::encode(@$_) } @commands);
    my $end = monotonic() + patience(30);
    while (@values < @commands) {
        vec(my $read = '', fileno $socket, 1) = 1;
        my $write = length $out ? $read : undef;
        my $ready = select $read, $write, undef, 1;
        $self->lost('does not answer') if monotonic() > $end;
        next if $ready <= 0;
        if (defined $write && vec $write, fileno $socket, 1) {
            local $SIG{PIPE} = 'IGNORE';
            my $sent = syswrite $socket, $out, 65_536;
            $self->lost("write: $!") if !defined $sent;
            substr $out, 0, $sent, '';
        }
        if (vec $read, fileno $socket, 1) {
            my $got = sysread $socket, $self->{buffer}, 262_144, length $self->{buffer};
            $self->lost('connection closed') if !$got;
            push @values, RateLimit::RESP::take_all(\$self->{buffer});
        }
    }
    return @values;
}

sub lost ($self, $why) {
    delete $self->{connection};
    die "redis-server on $self->{port}: $why\n";
}

sub script ($self, $text) { return $self->cmd('SCRIPT', 'LOAD', $text) }
sub keys ($self)          { return sort @{$self->cmd('KEYS', '*')} }
sub flush ($self)         { $self->cmd('FLUSHALL'); return $self }
sub hash ($self, $key)    { return {@{$self->cmd('HGETALL', $key)}} }
sub stored ($self, $key, $window = 'default/3600') { return $self->hash("rl:$window:$key") }
sub used ($self, @window) { return $self->stored(@window)->{used} // 0 }

sub used_of ($self, $window, @keys) {
    return map { $_ // 0 } $self->pipeline(map { ['HGET', "rl:$window:$_", 'used'] } @keys);
}

# See lua/bucket.lua. A full bucket may be there, and lacks less than nothing.
sub bucket ($self, $key) {
    my ($bytes, $time) = $self->pipeline(['GET', $key], ['TIME']);
    return if ref $bytes || length($bytes // '') != 24 || ord($bytes) < 128;
    my ($full, $longest) = unpack 'Q>2', $bytes;
    return (($full & ~(1 << 63)) - ($time->[0] * 1_000_000 + $time->[1]) * 1000, $longest);
}

sub used_by_key ($self) { return {map { $_ => $self->hash($_)->{used} } $self->keys} }

sub hold_only ($self, $key, $expiry, @fields) {
    $self->flush;
    $self->cmd('HSET', $key, @fields);
    $self->cmd('PEXPIRE', $key, $expiry) if defined $expiry;
    return $self;
}

sub expires_in ($self, $key, $milliseconds) {
    my $left = $self->cmd('PTTL', $key);
    return $left <= $milliseconds && $left > $milliseconds - 900;
}

sub forget_calls ($self)  { $self->cmd('CONFIG', 'RESETSTAT'); return $self }

sub info ($self, @section) {
    return {map { /^([^:#]+):(.*)/ ? ($1 => $2) : () } split /\r\n/, $self->cmd('INFO', @section)};
}

# Calls that a script makes are counted too: they are calls to Redis's commands.
sub calls ($self, @commands) {
    my $stats = $self->info('commandstats');
    return sum0(map { ($stats->{'cmdstat_' . lc $_} // '') =~ /calls=(\d+)/ } @commands);
}

sub script_calls ($self) { return $self->calls('evalsha', 'eval') }

sub drop_clients ($self) {
    $self->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    return $self;
}

sub kill ($self)   { $self->{process}->kill; delete $self->{connection}; return $self }
sub freeze ($self) { $self->{process}->freeze; return $self }
sub thaw ($self)   { $self->{process}->thaw; return $self }
sub alive ($self)  { return $self->{process}->alive }

# A server sends answers and what its replicas lack at the end of a turn of its event loop. Here it dies in the midst of a turn, in a script.
sub kill_in_turn ($self) {
    my $mark = 'it dies in turn ' . ++$markers;
    my $text = 'redis.log(redis.LOG_WARNING, ARGV[1]) while true do end';
    syswrite $self->connection, RateLimit::RESP::encode('EVAL', $text, 0, $mark);
    wait_until { index($self->log, $mark) >= 0 } what => 'the script in which the server dies';
    return $self->kill;
}

sub stop ($self) {
    $self->{process}->thaw;
    $self->{process}->signal('TERM');
    $self->{process}->wait(10) or $self->{process}->kill;
    delete $self->{connection};
    return $self;
}

sub restart ($self) {
    $self->kill;
    $self->launch;
    return $self->wait_ready;
}

1;
