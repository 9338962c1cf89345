# $rate_limit_addr is text: IPv4 and IPv6 cut to rate_limit_ipv4_prefix and rate_limit_ipv6_prefix, IPv4-mapped addresses and the like as IPv4, empty
# for unix peers, and what realip says. $rate_limit_binary_addr is the same in bytes.

use RateLimit::Test;
use JSON::PP qw(decode_json);
use Socket qw(inet_pton AF_INET AF_INET6);

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_key $rate_limit_addr; rate_limit 99r/h name=text;
        rate_limit 99r/h name=bytes key=$rate_limit_binary_addr;
        set_real_ip_from unix:; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;
        log_format json escape=json \'{"uri":"$uri","client":"$rate_limit_addr","status":$status}\';
        server { listen unix:%%DIR%%/socket; location / { } }',
    server => join("\n", 'access_log %%DIR%%/json json; location / { }
        location /few { rate_limit 2r/h name=core key=addr:$rate_limit_addr; }',
        map({ "location /p$_/ { alias %%DIR%%/html/; rate_limit_ipv6_prefix $_; }" } 1, 32, 48, 60, 128),
        map({ "location /v$_/ { alias %%DIR%%/html/; rate_limit_ipv4_prefix $_; }" } 1, 20, 24)),
);

sub windows_of ($uri, $address, $http = $nginx->http) {
    $redis->flush;
    my $response = $http->get($uri, $address ? ('X-Real-IP' => $address) : ());
    return 'not limited' if !defined limits($response)->{limit};
    wait_until { 2 == (() = $redis->keys) } what => 'the charges';
    return join ' ', sort $redis->keys;
}

sub is_window ($windows, $text, $bytes, $what) {
    $bytes = inet_pton($bytes =~ /:/ ? AF_INET6 : AF_INET, $bytes);
    return is $windows, "rl:bytes/3600:$bytes rl:text/3600:$text", $what;
}

my $address = '2001:db8:1234:5678:9abc:def0:1234:5678';
is_window windows_of('/x', ''), ('127.0.0.1') x 2, 'IPv4';
is_window windows_of('/x', '192.0.2.7'), ('192.0.2.7') x 2, 'by realip';
is_window windows_of('/x', $address), '2001:db8:1234:5678::/64', '2001:db8:1234:5678::', 'IPv6: 64 bits';
is_window windows_of('/x', '2001:DB8:0:0:0::1'), '2001:db8::/64', '2001:db8::', 'as short as it can be written';
is_window windows_of('/p1/x',   'ffff::1'), '8000::/1', '8000::', '1 bit';
is_window windows_of('/p32/x',  $address), '2001:db8::/32', '2001:db8::', '32 bits';
is_window windows_of('/p48/x',  $address), '2001:db8:1234::/48', '2001:db8:1234::', '48 bits';
is_window windows_of('/p60/x',  $address), '2001:db8:1234:5670::/60', '2001:db8:1234:5670::', '60 bits';
is_window windows_of('/p128/x', $address), ($address) x 2, 'all';
is_window windows_of('/p128/x', '::1'), ('::1') x 2, 'all of a short one';
is_window windows_of('/x', '::ffff:192.0.2.7'), ('192.0.2.7') x 2, 'IPv4-mapped';
is_window windows_of('/x', '64:ff9b::192.0.2.7'), ('192.0.2.7') x 2, 'behind a NAT64';
is_window windows_of('/x', '::192.0.2.7'), ('192.0.2.7') x 2, 'IPv4-compatible';
is_window windows_of('/v24/x', $_), '192.0.2.0/24', '192.0.2.0', "24 bits of $_" for '192.0.2.7', '::ffff:192.0.2.200', '64:ff9b::192.0.2.9';
is_window windows_of('/v20/x', '198.51.100.7'), '198.51.96.0/20', '198.51.96.0', '20 bits';
is_window windows_of('/v1/x', '198.51.100.7'), '128.0.0.0/1', '128.0.0.0', '1 bit';
is_window windows_of('/v24/x', $address), '2001:db8:1234:5678::/64', '2001:db8:1234:5678::', 'IPv6 has its own';
my $unix = RateLimit::HTTP->new(socket_path => $nginx->folder . '/socket');
is windows_of('/x', '', $unix), 'not limited', 'a unix peer has no address';
is_window windows_of('/x', '192.0.2.8', $unix), ('192.0.2.8') x 2, 'unless realip gives it one';

is_deeply [map { $nginx->get('/few')->status } 1 .. 3], [200, 200, 429], 'a limit';
wait_until { $redis->used('addr:127.0.0.1', 'core/3600') == 2 } what => 'its charges';
is $redis->cmd('DEL', 'rl:core/3600:addr:127.0.0.1'), 1, 'its window is deleted by the name that an operator types';
wait_until { $nginx->get('/few')->status == 200 } what => 'a fresh allowance';

$nginx->get('/json', 'X-Real-IP' => '2001:db8:ffff:fe80::1');
my $line;
wait_until { ($line) = grep { /json/ } $nginx->lines('json') } what => 'the log line';
is_deeply decode_json($line), {uri => '/json', client => '2001:db8:ffff:fe80::/64', status => 404},
    'a line in JSON is JSON';

done;
