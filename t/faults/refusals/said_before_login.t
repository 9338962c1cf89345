# The log has what a server says to a new connection before it closes it: over TLS, before a reset that comes while our greeting is unread, and
# where a real server has no room.

use RateLimit::Test;

my $words = 'ERR this proxy is full';

# Ends the connection soon after the client has sent something, which stays unread: so the system sends a reset. Sooner a reset would take away words
# that the client has had no occasion to read.
sub end_once_asked ($conn) {
    my $readable = '';
    vec($readable, $conn->number, 1) = 1;
    my $asked = select $readable, undef, undef, 0;
    $conn->{server}->after($asked ? 0.05 : 0.01, sub { $asked ? $conn->cut : end_once_asked($conn) });
    return;
}
my $asked  = RateLimit::FakeRedis->start(handler => sub ($command, $conn) { $conn->send("-$words\r\n"); $conn->close; return });
my $unread = RateLimit::FakeRedis->start(welcome => sub ($conn) { $conn->send("-$words\r\n"); $conn->{paused} = 1; end_once_asked($conn) });

my $authority = RateLimit::Certificates->authority('ours');
my $tls   = RateLimit::TlsProxy->start(to => $asked->port, certificate => $authority->issue('server', 'IP:127.0.0.1'));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('tls', $tls, timeouts('9s') . " ssl on; ssl_trusted_certificate @{[$authority->file]};")
        . redis_block('unread', $unread, timeouts('9s')),
    server => 'rate_limit_key k; rate_limit_store $arg_s; location / { rate_limit 1000r/h; }',
);
for my $store (qw(tls unread)) {
    my $line = qr/primary \S+ of shard "a" of "$store" is down[^\n]*(?:it said|PING): "$words"/;
    wait_until { $nginx->get("/x?s=$store"); $nginx->count_log($line) } what => "$store: its words";
    pass "$store: its words are told";
}

# A real server takes no other connection than this test's own.
for my $password (undef, 'x') {
    my $redis = RateLimit::Redis->start(args => ['--maxclients', 1], defined $password ? (password => $password) : ());
    my $other = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis, timeouts('9s') . (defined $password ? ' password x;' : '')), key => 'k');
    $other->get('/x');
    $other->wait_log(qr/primary \S+ of shard "a" of "main" is down: denied: it takes no more clients \(see its maxclients\), .*"ERR max number of clients reached"/);
    pass 'a real one, ' . (defined $password ? 'a password' : 'no password');
}

done;
