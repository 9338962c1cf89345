#!/usr/bin/env perl

# A primary whose snapshots fail answers PING by MISCONF, and HMGET as ever: it is up. Checks go on, charges wait.

use lib 't/lib';
use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => "rate_limit_redis main { check_timeout 5s; connect_timeout 5s; shard a primary=@{[$redis->address]}; }",
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; location / { rate_limit 3r/h; }',
);
my $client = $nginx->http;
my sub outcome () { return $client->get('/x', 'X-Key' => 'k')->header('X-Outcome') }
my sub stored () { return $redis->hash('rl:default/3600:k')->{used} // 0 }

# A snapshot that cannot be written.
$redis->cmd(qw(SET something there));
$redis->cmd(qw(CONFIG SET save), '3600 1');
my $folder = $redis->cmd(qw(CONFIG GET dir))->[1];
mkdir "$folder/dump.rdb" or die "$folder: $!";    # nothing can be renamed to it, by root neither
$redis->cmd('BGSAVE');
wait_until { "@{[$redis->ask('PING')]}" =~ /^MISCONF/ } what => 'MISCONF';

is outcome(), 'PASSED', 'a connection made now serves checks';
is outcome(), 'PASSED', 'more of them';
$nginx->wait_log(qr/refuses charges: unwilling: .*\(\S+: "MISCONF /);
$redis->drop_clients;
is outcome(), 'PASSED', 'on another connection too';
is outcome(), 'REJECTED', 'what waits counts here';
is stored(), 0, 'nothing is stored';
rmdir "$folder/dump.rdb";
$redis->cmd('BGSAVE');
wait_until { stored() == 3 } timeout => 9, what => 'all that waited';
$nginx->stop;
is $nginx->count_log(qr/could not be checked|doubt|dropped|does not serve/), 0, 'nothing was lost, nobody down';

done;
