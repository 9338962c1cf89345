# What a server says to a new connection before it closes it is in the log: why it takes nobody, or not from there. So it is for each kind of
# server, with a password and without, over TLS, whenever the words come: before our greeting is read, as the answer to it, in two pieces, and with a reset behind them.

use RateLimit::Test;

my @words = ('ERR max number of clients reached', 'DENIED Redis is running in protected mode because protected mode is enabled', 'ERR this proxy is full');

# Calls it soon after the client has sent something, which stays unread. Sooner a reset would take away words that the client has had no occasion to
# read.
sub once_asked ($conn, $action) {
    my $readable = '';
    vec($readable, $conn->number, 1) = 1;
    my $asked = select $readable, undef, undef, 0;
    $conn->{server}->after($asked ? 0.05 : 0.01, $asked ? $action : sub { once_asked($conn, $action) });
    return;
}
my %ways = (
    'at once'          => sub ($conn, $line) { $conn->send($line); $conn->close },
    'when asked'       => sub ($conn, $line) { $conn->send($line); $conn->close },
    'in pieces'        => sub ($conn, $line) { $conn->send(substr $line, 0, 7); $conn->{server}->after(0.02, sub { $conn->send(substr $line, 7); $conn->close }) },
    'with a reset'     => sub ($conn, $line) { $conn->send($line) },    # and the reset when it is asked
    'unread, by reset' => sub ($conn, $line) { $conn->send($line); $conn->{paused} = 1; once_asked($conn, sub { $conn->cut }) },
);
my sub saying ($way, $words) {
    my $say = $ways{$way};
    my $welcome = $way eq 'when asked' ? {} : {welcome => sub ($conn) { $say->($conn, "-$words\r\n") }};
    return RateLimit::FakeRedis->start(%$welcome, handler => sub ($command, $conn) {
        return $conn->cut(1) if $way eq 'with a reset';
        $say->($conn, "-$words\r\n") if $way eq 'when asked';
        return;
    });
}
my $authority = RateLimit::Certificates->authority('ours');
my $issued    = $authority->issue('server', 'IP:127.0.0.1');
my %roles = (
    primary  => sub ($at) { "shard a primary=$at;" },
    replica  => sub ($at) { "shard a primary=127.0.0.1:%%PORT_1%% replica=$at;" },
    sentinel => sub ($at) { "sentinel $at; shard a master=m;" },
    seed     => sub ($at) { "cluster $at;" },
);
my ($n, $blocks, @cases, @servers) = (0, '');
for my $way (sort keys %ways) {
    for my $words (@words) {
        my $fake = saying($way, $words);
        for my $tls ($way eq 'when asked' ? ('', ' over TLS') : '') {
            my $server = $tls ? RateLimit::TlsProxy->start(to => $fake->port, certificate => $issued) : $fake;
            push @servers, $fake, $server;    # they end with the last reference
            my $ssl = $tls ? "ssl on; ssl_trusted_certificate @{[$authority->file]};" : '';
            for my $role (sort keys %roles) {
                for my $password ('', $role eq 'sentinel' ? 'sentinel_password x;' : 'password x;') {
                    my $store = 's' . ++$n;
                    $blocks .= "rate_limit_redis $store { @{[$roles{$role}->($server->address)]} $ssl $password check_timeout 9s; connect_timeout 9s; }\n";
                    my $what = $role eq 'seed' ? qr/the cluster of "$store" does not tell its map/ : qr/$role \S+ (?:of shard "a" )?of "$store" is down/;
                    push @cases, {name => "$role$tls, $way, " . ($password ? 'a password' : 'no password') . ": $words", store => $store,
                        line => qr/${what}[^\n]*(?:it said|AUTH|PING): "\Q$words\E/};
                }
            }
        }
    }
}
my $nginx = RateLimit::Nginx->start(http => $blocks, server => 'rate_limit_key k; rate_limit_store $arg_s; location / { rate_limit 1000r/h; }');
my @left = @cases;
eval {
    wait_until {
        $nginx->parallel(connections => 4, requests => [map { ["/x?s=$_->{store}"] } @left]);
        my $log = $nginx->error_log;
        @left = grep { $log !~ $_->{line} } @left;
        !@left
    } what => 'all to be told';
};
diag $_->{name} for @left;
is scalar @left, 0, scalar(@cases) . ' ways to be turned away are told';

# A real one: this test's own connection is the only one that it takes.
for my $password (undef, 'x') {
    my $redis = RateLimit::Redis->start(args => ['--maxclients', 1], defined $password ? (password => $password) : ());
    my $other = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis, timeouts('9s') . (defined $password ? ' password x;' : '')), key => 'k');
    $other->get('/x');
    $other->wait_log(qr/primary \S+ of shard "a" of "main" is down: denied: it takes no more clients \(see its maxclients\), .*"ERR max number of clients reached"/);
    pass 'a real one, ' . (defined $password ? 'a password' : 'no password');
}

done;
