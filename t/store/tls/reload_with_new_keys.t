# Keys that only the master's user can read work, and a new certificate counts from a reload on: nginx reads both before its
# workers give up their rights. No request fails meanwhile.
# Row 5 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => {%{$authority->issue('server', 'IP:127.0.0.1')}, authority => $authority->file});
my $stranger  = RateLimit::Certificates->authority('other')->issue('stranger', 'DNS:nginx.test');
my ($certificate, $key) = map { test_folder() . "/in-use.$_" } qw(pem key);

my sub install ($client) {
    write_text($certificate, read_text($client->{certificate}));
    write_text($key, read_text($client->{key}));
    chmod 0400, $key;
    return;
}

install($authority->issue('first', 'DNS:nginx.test'));
my @setup = (
    http => redis_block('main', $redis,
        timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]}; ssl_certificate $certificate; ssl_certificate_key $key;"),
    server => 'rate_limit_key k; rate_limit 100000r/h store=main; add_header X-Outcome $rate_limit_status always;',
);
my $nginx = RateLimit::Nginx->start(@setup);
my sub outcomes ($count) {
    my %outcomes;
    $outcomes{$_->header('X-Outcome')}++ for $nginx->parallel(connections => 4, requests => $count, uri => '/x');
    return \%outcomes;
}
is_deeply outcomes(50), {PASSED => 50}, 'a key of mode 0400';

install($authority->issue('second', 'DNS:nginx.test'));
$nginx->reload(@setup);
is_deeply outcomes(200), {PASSED => 200}, 'new ones, while old workers leave';

install($stranger);
is_deeply outcomes(50), {PASSED => 50}, 'what is installed does not count yet';
$redis->drop_clients;
is_deeply outcomes(50), {PASSED => 50}, 'nor for a new connection';
$nginx->reload(@setup, wait_old => 1);
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', 'after a reload it does';
$nginx->wait_log(qr/is down: .*(?:unknown ca|certificate unknown|bad certificate)/);

done;
