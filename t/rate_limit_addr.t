#!/usr/bin/env perl

# $rate_limit_addr: 4 bytes of IPv4, IPv6 cut to rate_limit_ipv6_prefix, IPv4-mapped addresses as IPv4,
# empty for unix peers, and what realip says.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Socket qw(inet_pton AF_INET AF_INET6);
use RateLimit::Test;

my $patient = 'check_timeout 5s; connect_timeout 5s;';    # for a busy machine
my $shards = RateLimit::Shards->start(1);
my $redis  = $shards->primary(0);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main', $patient) . '
        rate_limit_store main; rate_limit_key $rate_limit_addr; rate_limit 99r/h;
        set_real_ip_from unix:; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;
        server { listen unix:%%DIR%%/socket; location / { add_header X-Length "<$rate_limit_addr>"; } }',
    server => join "\n", 'location / { }',
        map { "location /p$_/ { alias %%DIR%%/html/; rate_limit_ipv6_prefix $_; }" } 1, 32, 48, 60, 128,
);

sub window_of ($uri, $address, $http = $nginx->http) {
    $redis->flush;
    my $response = $http->get($uri, $address ? ('X-Real-IP' => $address) : ());
    return 'not limited' if !defined limits($response)->{limit};
    wait_until { () = $redis->keys } what => 'the charge';
    return join ' ', $redis->keys;
}
sub key ($text) { return 'rl:default/3600:' . inet_pton($text =~ /:/ ? AF_INET6 : AF_INET, $text) }

my $address = '2001:db8:1234:5678:9abc:def0:1234:5678';
is window_of('/x', ''), key('127.0.0.1'), 'IPv4';
is window_of('/x', '192.0.2.7'), key('192.0.2.7'), 'by realip';
is window_of('/x', $address), key('2001:db8:1234:5678::'), 'IPv6: 64 bits';
is window_of('/p1/x',   'ffff::1'), key('8000::'), '1 bit';
is window_of('/p32/x',  $address), key('2001:db8::'), '32 bits';
is window_of('/p48/x',  $address), key('2001:db8:1234::'), '48 bits';
is window_of('/p60/x',  $address), key('2001:db8:1234:5670::'), '60 bits';
is window_of('/p128/x', $address), key($address), 'all';
is window_of('/x', '::ffff:192.0.2.7'), key('192.0.2.7'), 'IPv4-mapped';
my $unix = RateLimit::HTTP->new(socket_path => $nginx->folder . '/socket');
is window_of('/x', '', $unix), 'not limited', 'a unix peer has no address';
is window_of('/x', '192.0.2.8', $unix), key('192.0.2.8'), 'unless realip gives it one';

done;
