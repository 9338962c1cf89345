# Addresses: unix sockets, IPv6, host names; and the database that keys land in.

use RateLimit::Test;
use IO::Socket::IP;

my $redis = RateLimit::Redis->start(unixsocket => 1, args => ['--bind', '127.0.0.1', '-::1']);
my $port  = $redis->port;
my $has_ipv6 = IO::Socket::IP->new(PeerHost => '::1', PeerPort => $port);

# 127.1 is a name to nginx, which the system resolves without asking anybody.
my @addresses = ([unix => $redis->address], [ipv4 => "127.0.0.1:$port"], [name => "127.1:$port"]);
push @addresses, [ipv6 => "[::1]:$port"] if $has_ipv6;
my $times  = 'check_timeout 2s; connect_timeout 2s;';
my @stores = map { redis_block(@$_, $times) } @addresses;
my $nginx  = RateLimit::Nginx->start(
    http   => join('', @stores, redis_block('ninth', "127.0.0.1:$port", "$times database 9;")),
    server => join '', 'rate_limit_key k;',
        map { "location /$_ { rate_limit 100r/h name=$_ store=$_; }\n" } 'ninth', map { $_->[0] } @addresses,
);
sub used ($name) { return $redis->used('k', "$name/3600") }

for (@addresses) {
    my ($name, $address) = @$_;
    is limits($nginx->get("/$name"))->{used}, 1, "a check of $address";
    wait_until { used($name) == 1 } what => "a charge at $address";
    is limits($nginx->get("/$name"))->{used}, 2, 'what was charged is read';
}

$nginx->get('/ninth');
wait_until { ($redis->info('keyspace')->{db9} // '') =~ /keys=1\b/ } what => 'a key in database 9';
is limits($nginx->get('/ninth'))->{used}, 2, 'where the check reads it';
$nginx->stop;
is_deeply [grep { /ninth/ } $redis->keys], [], 'and none in database 0';
$redis->cmd('SELECT', 9);
is $redis->used('k', 'ninth/3600'), 2, 'with every charge';
is $nginx->count_log(qr/rate limit: /), 0, 'nothing failed';

done;
