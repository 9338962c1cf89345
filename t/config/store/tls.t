# The ssl directives of rate_limit_redis: what they take, and what is refused before nginx starts, with file, line and remedy.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $client    = $authority->issue('client', 'DNS:nginx.test');
my $other     = $authority->issue('other', 'DNS:nginx.test');
my $locked    = $authority->issue('locked', 'DNS:nginx.test', password => 'sesame');
my $folder    = test_folder();
write_text("$folder/noise", "no certificate\n");

my $shard  = 'shard a primary=127.0.0.1:1';
my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; }';
my $files  = "ssl_certificate $client->{certificate}; ssl_certificate_key $client->{key}";

accepts_quietly("rate_limit_redis main { $shard; $_; } $server", $_) for
    'ssl on', 'ssl off', 'ssl on; ssl_verify on', "ssl on; ssl_trusted_certificate @{[$authority->file]}",
    "ssl on; $files", "$files; ssl on", 'ssl on; ssl_name redis.example.test', 'ssl on; ssl_name ::1', 'ssl on; connect_timeout 50ms';

my @warned = (
    ['ssl_verify off; ssl on', 'ssl_verify', qr/"ssl_verify off": whoever answers .* remove the line, and name the CA in "ssl_trusted_certificate"/],
    ['ssl on; shard b primary=unix:/run/redis.sock', '}', qr/"ssl on" does not hold for "unix:\/run\/redis\.sock": .* clear text there/],
);
warns("rate_limit_redis main { $shard; $_->[0]; } $server", $_->[1], $_->[2], $_->[0]) for @warned;

my $nothing = qr/does nothing without TLS: add "ssl on", or remove the line/;
my $unusable = qr/"ssl_certificate_key .*" cannot be used \(the line before says why\): name the key of "ssl_certificate"/;
my @bad = (
    (map { ["$_ yes", $_, qr/invalid "$_ yes": it is "on" or "off"/] } 'ssl', 'ssl_verify'),
    ['ssl_name ""', 'ssl_name', qr/invalid "ssl_name ": it is the host name or the IP address in the certificate/],
    (map { [qq(ssl on; $_ ""), $_, qr/"$_" is empty: name a file, or remove the line/] } 'ssl_trusted_certificate', 'ssl_certificate', 'ssl_certificate_key'),
    ["ssl_trusted_certificate @{[$authority->file]}", 'ssl_trusted_certificate', qr/"ssl_trusted_certificate .*" $nothing/],
    [$files, 'ssl_certificate', qr/"ssl_certificate .*" $nothing/],
    ["ssl on; ssl_certificate $client->{certificate}", 'ssl_certificate', qr/"ssl_certificate .*" has no "ssl_certificate_key": add one/],
    ["ssl on; ssl_certificate_key $client->{key}", 'ssl_certificate_key', qr/"ssl_certificate_key .*" has no "ssl_certificate": add one/],
    ['ssl_name redis.example.test', 'ssl_name', qr/"ssl_name redis\.example\.test" $nothing/],
    (map { ["$_->[0]ssl_verify $_->[1]", 'ssl_verify', qr/"ssl_verify $_->[1]" $nothing/] } ['', 'on'], ['', 'off'], ['ssl off; ', 'on'], ['ssl off; ', 'off']),
    ['ssl on; ssl_name .example.test', 'ssl_name', qr/invalid "ssl_name \.example\.test"/],
    ['ssl on; ssl on', 'ssl on', qr/duplicate "ssl" in "rate_limit_redis": keep one/],
);
refuses("rate_limit_redis main { $shard; $_->[0]; } $server", $_->[1], $_->[2], $_->[0]) for @bad;

# A value that may be a key, or may have the PIN of one, is not repeated in errors, neither by this module nor by nginx.
my $secret = 'MC4CAQAwBQYDK2VwBCIEIJ';
for my $directive ('ssl_trusted_certificate', 'ssl_certificate', 'ssl_certificate_key') {
    for my $value ("data:$secret", "data:-----BEGIN PRIVATE KEY-----\\n$secret", "engine:pkcs11:pin-value=$secret", "store:pkcs11:pin-value=$secret",
        "-----BEGIN PRIVATE KEY-----\\n$secret", "-----BEGIN PRIVATE KEY----- $secret", "\\n$secret") {
        my ($code, $output) = RateLimit::Nginx->test_config(http => "rate_limit_redis main { $shard; ssl on;\n$directive \"$value\"; } $server");
        like $output, qr/\[emerg\].*"$directive" takes the name of a file: .* in \S*nginx\.conf:\d+/, "refused: $directive with " . $value =~ s/$secret/.../r;
        unlike $output, qr/\Q$secret/, 'without its text';
    }
}

# nginx's own line says why, ours where and what to do.
for ((map { my $file = $_; (
        ["ssl_trusted_certificate $file", qr/"ssl_trusted_certificate .*" cannot be used \(the line before says why\): name a file of CA certificates in PEM/],
        ["ssl_certificate $file; ssl_certificate_key $client->{key}", $unusable],
        ["ssl_certificate $client->{certificate}; ssl_certificate_key $file", $unusable]) } "$folder/missing", "$folder/noise"),
    ["ssl_certificate $client->{certificate}; ssl_certificate_key $other->{key}", $unusable],
    ["ssl_certificate $client->{certificate}; ssl_certificate_key $locked->{key}", $unusable]) {
    my ($lines, $pattern) = @$_;
    my ($code, $output) = RateLimit::Nginx->test_config(http => "rate_limit_redis main { $shard; ssl on; $lines; } $server");
    isnt $code, 0, "refused: $lines";
    like $output, qr/\[emerg\].*$pattern.* in \S*nginx\.conf:\d+/, 'with the line and the remedy';
}

done;
