# The server is told by which name it is reached (SNI), if that is a name: RFC 6066 has no addresses there, and no dot at the end.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'DNS:localhost,DNS:redis.example.test,IP:127.0.0.1');
my @cases     = (
    ['127.0.0.1', '', undef],
    ['localhost', '', 'localhost'],
    ['127.0.0.1', 'ssl_name redis.example.test.;', 'redis.example.test'],
    ['127.0.0.1', 'ssl_name redis.example.test;', 'redis.example.test'],
    ['localhost', 'ssl_name 127.0.0.1;', undef],
);
my ($http, $locations, @servers, @outputs) = ('', '');
for (0 .. $#cases) {
    my ($host, $lines) = @{$cases[$_]};
    my $port   = free_port();
    my $output = $outputs[$_] = test_folder() . "/server-$port";
    push @servers, RateLimit::Process->start(
        command => ['sh', '-c', 'sleep 600 | openssl s_server "$@"', 'sh', '-accept', "127.0.0.1:$port",    # it ends with its input
            '-cert', $server->{certificate}, '-key', $server->{key}, '-tlsextdebug', '-naccept', 1],
        output => $output, name => "openssl s_server $port");
    wait_until { read_text($output) =~ /ACCEPT/ } what => 'a server of openssl';
    $http .= redis_block("s$_", "$host:$port",
        "check_timeout 300ms; connect_timeout 9s; ssl on; ssl_trusted_certificate @{[$authority->file]}; $lines");
    $locations .= "location /$_ { rate_limit 100r/h store=s$_; }";
}
my $nginx = RateLimit::Nginx->start(http => $http, server => "rate_limit_key k; $locations");

for my $i (0 .. $#cases) {
    my ($host, $lines, $expected) = @{$cases[$i]};
    is $nginx->get("/$i")->status, 200, "$host $lines: a request";
    wait_until { read_text($outputs[$i]) =~ /PING|Reused session/ } what => 'the end of the handshake';
    my ($name) = read_text($outputs[$i]) =~ /^TLS client extension "server name".*\n((?:[0-9a-f]{4} - .*\n)+)/m;
    my $bytes = join '', map { pack 'H*', $_ =~ s/[^0-9a-f]//gr } map { /^[0-9a-f]{4} - (.{47})/ ? $1 : () } split /\n/, $name // '';
    defined $expected ? like($bytes, qr/\Q$expected\E$/, 'it is told the name') : is($name, undef, 'it is told no name');
}
$_->kill for @servers;

done;
