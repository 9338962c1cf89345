package Bench::Handshakes;

# This measures what a new connection costs a Redis server that has a core of its own: connect, PING, its answer, close.
#
#   my $of = measure($authority->issue(...), 1000, 5);    # so many connections, so many times, in turns
#   [$title, [µs, ...]] for each kind: clear text, and TLS by version, new and resumed
#
# Dies where a connection is not of its kind.

use v5.36;
use utf8;

use Exporter 'import';
use IO::Socket::INET;
use List::Util qw(shuffle);
use Net::SSLeay;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Bench::Cpu;
use RateLimit::Redis;

our @EXPORT = qw(measure);

my %version = ('TLS 1.2' => ['TLSv1.2', 0x0303], 'TLS 1.3' => ['TLSv1.3', 0x0304]);

sub measure ($certificate, $count, $repetitions) {
    my ($core, @others) = reverse cores();
    keep_to($core);
    my %redis = map {
        ($_ => RateLimit::Redis->start(tls => {%$certificate, protocols => $version{$_}[0], beside => 1}))
    } sort keys %version;
    keep_to(@others ? @others : $core);
    my @kinds = (
        {title => 'clear text', redis => $redis{'TLS 1.3'}, used => []},
        map { my $name = $_; map { kind($name, $redis{$name}, $_) } 0, 1 } sort keys %version);
    for (1 .. $repetitions) {
        push @{$_->{used}}, used($_, $count) for shuffle @kinds;
    }
    return map { [@$_{qw(title used)}] } @kinds;
}

sub kind ($name, $redis, $resumes) {
    my $ctx = Net::SSLeay::CTX_new() or die 'no memory';
    Net::SSLeay::CTX_set_min_proto_version($ctx, $version{$name}[1]);
    Net::SSLeay::CTX_set_max_proto_version($ctx, $version{$name}[1]);
    return {title => "$name, " . ($resumes ? 'resumed' : 'new'), redis => $redis, ctx => $ctx, resumes => $resumes, used => []};
}

# CPU of the server for each connection, in µs. The connection before the first one gives it the session to resume.
sub used ($kind, $count) {
    my ($pid, $connect) = ($kind->{redis}->pid, $kind->{ctx} ? \&connect_encrypted : \&connect_clear);
    $kind->{session} = undef;
    $connect->($kind);
    $kind->{redis}->cmd('PING');    # it has closed that one
    my $before = cpu_us($pid);
    $connect->($kind) for 1 .. $count;
    $kind->{redis}->cmd('PING');
    return (cpu_us($pid) - $before) / $count;
}

sub socket_to ($port) {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die "port $port: $@\n";
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1 or die $!;
    return $socket;
}

sub connect_clear ($kind) {
    my $socket = socket_to($kind->{redis}->port);
    print {$socket} "PING\r\n";
    $socket->flush;
    expect_pong(scalar readline $socket);
    return;
}

# With TLS 1.3 the session comes after the handshake: it is there once an answer is.
sub connect_encrypted ($kind) {
    my $socket = socket_to($kind->{redis}->tls_port);
    my $ssl = Net::SSLeay::new($kind->{ctx}) or die 'no memory';
    Net::SSLeay::set_fd($ssl, fileno $socket);
    my $session = $kind->{session};
    Net::SSLeay::set_session($ssl, $session) if $session;
    Net::SSLeay::connect($ssl) == 1 or die 'handshake: ' . Net::SSLeay::ERR_error_string(Net::SSLeay::ERR_get_error()) . "\n";
    Net::SSLeay::write($ssl, "PING\r\n");
    expect_pong((Net::SSLeay::read($ssl))[0]);
    die "$kind->{title}: a session was " . ($session ? 'not ' : '') . "resumed\n"
        if !!$session != !!Net::SSLeay::session_reused($ssl);
    if ($kind->{resumes}) {
        $kind->{session} = Net::SSLeay::get1_session($ssl);
        Net::SSLeay::SESSION_free($session) if $session;
    }
    Net::SSLeay::shutdown($ssl);
    Net::SSLeay::free($ssl);
    return;
}

sub expect_pong ($answer) {
    return if ($answer // '') eq "+PONG\r\n";
    die 'redis-server did not answer: ' . ($answer // 'nothing') . "\n";
}

1;
