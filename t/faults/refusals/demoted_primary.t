#!/usr/bin/env perl

# A primary is demoted while its connection stays, and the address leads to the new one from then on: after READONLY
# nothing more is written on that connection, reads go on there, and a new connection takes all that waits.

use lib 't/lib';
use RateLimit::Test;

my $old = RateLimit::Redis->start;
my $new = RateLimit::Redis->start(replica_of => $old);
$new->wait_synced;
my $proxy = RateLimit::Proxy->start(to => $old->port);
my $nginx = RateLimit::Nginx->start(
    http => "rate_limit_redis main { check_timeout 5s; connect_timeout 5s; shard a primary=@{[$proxy->address]}; }",
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
    files => {reserve => ''},
);
my $client = $nginx->http;
my sub outcome ($uri, $key) { return $client->get($uri, 'X-Key' => $key)->header('X-Outcome') }
my sub stored ($redis, $key) { return $redis->hash("rl:$key")->{used} // 0 }

is outcome('/x', 'k'), 'PASSED', 'before' for 1 .. 3;
is outcome('/reserve', 'k'), 'PASSED', 'a reservation';
wait_until { stored($new, 'default/3600:k') == 3 && stored($new, 'r/3600:k') == 1 } what => 'replication';

$new->cmd(qw(REPLICAOF NO ONE));
$old->cmd('REPLICAOF', '127.0.0.1', $new->port);
is outcome('/x', 'k'), 'PASSED', 'a check is answered by the one that was the primary' for 1 .. 5;
$nginx->wait_log(qr/refuses charges: readonly/);
my sub refused () { return $old->info('errorstats')->{errorstat_READONLY} =~ /count=(\d+)/ ? $1 : die 'no count' }
my $refused = refused();
is outcome('/reserve', 'k'), 'ERROR_DENIED', 'no reservation is asked of it';
is outcome('/x', 'k'), 'PASSED', 'while checks go on' for 1 .. 5;

# The address still leads to the old one: each try takes a new connection and one charge.
my $tries = $proxy->connections;
wait_until { $proxy->connections >= $tries + 3 } what => 'tries';
my $more = refused() - $refused;
cmp_ok $more, '>', 0, 'the tries write';
cmp_ok $more, '<=', $proxy->connections - $tries + 1, 'one write a connection';

$proxy->lead_to($new->port);
wait_until { stored($new, 'default/3600:k') == 13 } timeout => 9, what => 'all that waited';
$nginx->wait_log(qr/takes charges again after/);
is outcome('/x', 'k'), 'PASSED', 'after';
is outcome('/reserve', 'k'), 'PASSED', 'reservations too';
wait_until { stored($new, 'default/3600:k') == 14 } what => 'the next charge';
$nginx->stop;
is stored($new, 'default/3600:k'), 14, 'each once';
is stored($new, 'r/3600:k'), 2, 'of reservations too';
is $nginx->count_log(qr/is a replica now: unless the same address leads to the new primary/), 1,
    'the log says once what to do';
is $nginx->count_log(qr/refuses charges/), 1, 'and once that charges wait';
is $nginx->count_log(qr/doubt|dropped|lost|is down|does not serve/), 0, 'nothing is lost';

done;
