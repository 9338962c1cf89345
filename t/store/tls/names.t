# A server is believed if its certificate is of a trusted authority, for the name or the address that it is reached by, and
# valid now. Any other gets no password, and the log has OpenSSL's words and the name that was expected.
# Row 2 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $middle    = $authority->authority_below('middle');
my $other     = RateLimit::Certificates->authority('other');

# Certificates by name, and what they are for.
my %certificate = (
    address    => $authority->issue('address', 'IP:127.0.0.1'),
    localhost  => $authority->issue('localhost', 'DNS:localhost'),
    wildcard   => $authority->issue('wildcard', 'DNS:*.example.test'),
    partial    => $authority->issue('partial', 'DNS:red*.example.test'),
    subject    => $authority->issue('subject', undef, subject => '/CN=redis.example.test'),
    both       => $authority->issue('both', 'DNS:other.example.test', subject => '/CN=redis.example.test'),
    chained    => $middle->issue('chained', 'IP:127.0.0.1', chain => 1),
    unchained  => $middle->issue('unchained', 'IP:127.0.0.1'),
    stranger   => $other->issue('stranger', 'IP:127.0.0.1'),
    expired    => $authority->issue('expired', 'IP:127.0.0.1', from => '20200101000000Z', until => '20210101000000Z'),
    tomorrow   => $authority->issue('tomorrow', 'IP:127.0.0.1', from => '20990101000000Z', until => '20991231000000Z'),
);
my %redis = map { ($_ => RateLimit::Redis->start(tls => $certificate{$_}, password => 'open sesame', wait => 0)) } keys %certificate;
$_->wait_ready for values %redis;

my @good = (
    [address   => '127.0.0.1', ''],
    [localhost => 'localhost', ''],
    [localhost => '127.0.0.1', 'ssl_name localhost;'],
    [address   => 'localhost', 'ssl_name 127.0.0.1;'],
    [wildcard  => '127.0.0.1', 'ssl_name redis.example.test;'],
    [wildcard  => '127.0.0.1', 'ssl_name redis.example.test.;'],    # the dot that ends an absolute name
    [subject   => '127.0.0.1', 'ssl_name redis.example.test;'],
    [chained   => '127.0.0.1', ''],
    [stranger  => '127.0.0.1', 'ssl_verify off;'],
);
my @bad = (
    [localhost => '127.0.0.1', '', qr/IP address mismatch; it has to be for "127\.0\.0\.1"/],
    [address   => 'localhost', '', qr/hostname mismatch; it has to be for "localhost"/],
    [address   => '127.0.0.1', 'ssl_name redis.example.test;', qr/hostname mismatch; it has to be for "redis\.example\.test"/],
    [wildcard  => '127.0.0.1', 'ssl_name example.test;', qr/hostname mismatch/],
    [wildcard  => '127.0.0.1', 'ssl_name redis.example.test..;', qr/hostname mismatch/],
    [wildcard  => '127.0.0.1', 'ssl_name a.redis.example.test;', qr/hostname mismatch/],
    [partial   => '127.0.0.1', 'ssl_name redis.example.test;', qr/hostname mismatch/],
    [both      => '127.0.0.1', 'ssl_name redis.example.test;', qr/hostname mismatch/],
    [unchained => '127.0.0.1', '', qr/unable to get (?:local )?issuer certificate|unable to verify the first certificate/],
    [stranger  => '127.0.0.1', '', qr/self.signed certificate in certificate chain|unable to get local issuer certificate/],
    [expired   => '127.0.0.1', '', qr/certificate has expired/],
    [tomorrow  => '127.0.0.1', '', qr/certificate is not yet valid/],
);

# An nginx with a store for each of them, which is "s" and its number.
my sub start (@cases) {
    my $lines = "password 'open sesame'; ssl on; ssl_trusted_certificate @{[$authority->file]}; " . timeouts('9s');
    my @stores = map {
        my ($name, $host, $more) = @{$cases[$_]};
        redis_block("s$_", $redis{$name}->address =~ s/.*(?=:)/$host/r, "$lines $more")
    } 0 .. $#cases;
    return RateLimit::Nginx->start(
        http   => join('', @stores),
        server => 'rate_limit_key k; add_header X-Outcome $rate_limit_status always;'
            . join '', map { "location /$_ { rate_limit 100r/h name=n$_ store=s$_; }" } 0 .. $#cases);
}
my sub outcome ($nginx, $i) { return $nginx->get("/$i")->header('X-Outcome') }

my $nginx = start(@bad);
for my $i (0 .. $#bad) {
    my ($name, $host, $lines, $words) = @{$bad[$i]};
    is outcome($nginx, $i), 'ERROR_ALLOWED', "$name, reached by $host $lines: no store";
    $nginx->wait_log(qr/\[error\].*primary .* of "s$i" is down: certificate verify failed: .*$words/);
}
$nginx->stop;
is_deeply [grep { $redis{$_}->calls('auth') } sort keys %redis], [], 'nobody has seen the password';

$nginx = start(@good);
for my $i (0 .. $#good) {
    my ($name, $host, $lines) = @{$good[$i]};
    is outcome($nginx, $i), 'PASSED', "$name, reached by $host $lines";
}
$nginx->stop;
is_deeply [map { $redis{$good[$_][0]}->used('k', "n$_/3600") } 0 .. $#good], [(1) x @good], 'and charged';

done;
