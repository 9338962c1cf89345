# The console is for clients on this machine that speak HTTP/1.1 and for which no proxy speaks, as its fields or realip would tell; with from=any it
# is for those whom nginx's own directives let in. The Host must be an address, localhost or a name of the server. Each refusal says what to
# configure.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(http => '
    server {
        listen 127.0.0.1:%%PORT%%; listen unix:%%DIR%%/socket; listen unix:%%DIR%%/proxied proxy_protocol; server_name limits.test *.wild.test ~^re[0-9]+$;
        rate_limit_key k;
        set_real_ip_from 127.0.0.1; real_ip_header X-Client;
        location /limits/ { rate_limit_console view; }
        location /any/ { rate_limit_console view from=any; deny 192.0.2.7; }
        location / { rate_limit 5r/h; }
    }
    server {
        listen 127.0.0.1:%%PORT_1%%;
        location /late/ { set_real_ip_from 127.0.0.1; real_ip_header X-Client; rate_limit_console view; }
        location /proxied/ { proxy_http_version 1.0; proxy_pass http://127.0.0.1:%%PORT%%/; }
    }');
my sub ask ($uri, @headers) { return $nginx->get($uri, @headers) }
my sub ask_other ($uri, @headers) { return RateLimit::HTTP->new(port => $nginx->port(1))->get($uri, @headers) }

for my $host ('127.0.0.1', '127.0.0.1:8080', '[::1]', '[::1]:80', 'localhost', 'LocalHost:80', 'limits.test', 'a.wild.test', 're7') {
    is ask('/limits/json', Host => $host)->status, 200, "Host: $host";
}
for my $host ('evil.example', 'limits.test.evil.example', 'xwild.test', '127.0.0.1.evil.example', 'localhost.evil.example') {
    my $response = ask('/limits/json', Host => $host);
    is $response->status, 403, "Host: $host";
    like $response->json->{description}, qr/add the name to "server_name"/, '... with the remedy';
    is ask('/any/json', Host => $host)->status, 403, '... also with from=any';
}
for my $field ('Forwarded', 'X-Forwarded-For', 'x-real-ip', 'Via') {
    my $response = ask('/limits/json', $field => '10.0.0.1');
    is $response->status, 403, $field;
    like $response->json->{description}, qr/A proxy has sent.*add "from=any" to "rate_limit_console"/, '... with the remedy';
    is ask('/any/json', $field => '10.0.0.1')->status, 200, '... but with from=any';
}
my $response = ask('/limits/json', 'X-Client' => '192.0.2.7');
is $response->status, 403, 'a client from elsewhere, by set_real_ip_from';
like $response->json->{description}, qr/on this machine alone: add "from=any"/, '... with the remedy';
is ask('/any/json', 'X-Client' => '192.0.2.7')->status, 403, '... and by deny';
is ask('/any/json', 'X-Client' => '192.0.2.8')->status, 200, '... which lets others in';
for my $address ('127.0.0.1', '127.9.9.9', '::1') {
    is ask('/limits/json', 'X-Client' => $address)->status, 403, "who says that it is $address, to a proxy that realip trusts";
    is ask('/any/json', 'X-Client' => $address)->status, 200, '... which is nothing to from=any';
    is ask_other('/late/json', 'X-Client' => $address)->status, 403, '... and where realip acts in the location alone';
}
is ask_other('/late/json')->status, 200, 'where realip has nothing to act on';
is ask_other('/late/json', 'X-Client' => 'nobody')->status, 200, '... or no address';
for my $case (
    ['TCP4 192.0.2.8 127.0.0.1 4000 80', 403], ['TCP6 2001:db8::1 ::1 4000 80', 403], ['UNKNOWN', 403],
    ['TCP4 127.0.0.1 127.0.0.1 4000 80', 200], ['TCP6 ::1 ::1 4000 80', 200], ['TCP6 ::ffff:127.0.0.1 ::1 4000 80', 200],
) {
    my ($told, $status) = @$case;
    for my $path ('limits', 'any') {
        my $proxy = IO::Socket::UNIX->new(Peer => $nginx->folder . '/proxied') or die $!;
        print {$proxy} "PROXY $told\r\nGET /$path/json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        my $expected = $path eq 'any' ? 200 : $status;
        like join('', <$proxy>), qr/^HTTP\S+ $expected /, "/$path/ through a proxy that says $told";
    }
}
for my $version ('1.0', '1.1') {
    for my $path ('limits', 'any') {
        my $unix = IO::Socket::UNIX->new(Peer => $nginx->folder . '/socket') or die $!;
        print {$unix} "GET /$path/json HTTP/$version\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        my $text = join '', <$unix>;
        my $expected = $version eq '1.1' || $path eq 'any' ? 200 : 403;
        like $text, qr/^HTTP\S+ $expected /, "/$path/ by a unix socket, in HTTP/$version";
        like $text, qr/use HTTP\/1\.1, or add \\"from=any\\" to \\"rate_limit_console\\"/, '... with the remedy' if $expected == 403;
    }
}
is ask_other('/proxied/limits/json')->status, 403, 'a plain proxy_pass on this machine';
is ask_other('/proxied/any/json')->status, 200, '... with from=any';

done;
