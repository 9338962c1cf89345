# The log of an outage has what was wrong with the certificate of one address, where a name has several, though another
# address that was tried later could not be reached at all.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'DNS:redis.example.test');
my $stranger  = RateLimit::Certificates->authority('other')->issue('stranger', 'DNS:redis.example.test');

# This text is a name to nginx, which knows addresses of four numbers only, and an address to the system.
my $name  = '127.1';
my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my $first = RateLimit::Redis->start(tls => $server);
my $bad   = RateLimit::Redis->start(host => '127.0.0.2', tls => $stranger, args => ['--tls-port', $first->tls_port]);
my $nginx = RateLimit::Nginx->with_limit('1000r/h',
    'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $first->tls_port,
        timeouts('9s') . "ssl on; ssl_name redis.example.test; ssl_trusted_certificate @{[$authority->file]};"),
    more => 'add_header X-Outcome $rate_limit_status always;');
my sub outcome ($key) { return $nginx->get('/x', 'X-Key' => $key)->header('X-Outcome') }

is outcome('before'), 'PASSED', 'one address';
wait_until { $first->used('before') } what => 'its charge';
$dns->set($name => '127.0.0.2 127.0.0.3');
$first->kill;
wait_until { () = $dns->records } what => 'a question';
is outcome('during'), 'ERROR_ALLOWED', 'two others: at one is a stranger, at the other nobody';
$nginx->wait_log(qr/is down.*: certificate verify failed: .*; name its authority in "ssl_trusted_certificate"/);

my $good = RateLimit::Redis->start(host => '127.0.0.3', tls => $server, args => ['--tls-port', $first->tls_port]);
wait_until { outcome('after') eq 'PASSED' } what => 'the server at the second address';
pass 'one that fits is used, whatever the other is';

$good->kill;
wait_until { outcome('alone') eq 'ERROR_ALLOWED' } what => 'the next outage';
$nginx->wait_log(qr/(?:certificate verify failed.*?){2}/s);
$bad->kill;
$nginx->wait_log(qr/is down.*: Connection refused/);
pass 'what was wrong in an earlier round is forgotten';

done;
