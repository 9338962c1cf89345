# A primary whose snapshots fail answers PING by MISCONF, and HMGET as ever: it is up. Checks go on, charges wait.
# Row 8a of the fault matrix.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('3r/h', redis_block('main', $redis),
    more => 'rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;');
my $client = $nginx->http;
my sub ask () { return outcome($client->get('/x', 'X-Key' => 'k')) }

# A snapshot that cannot be written.
$redis->cmd(qw(SET something there));
$redis->cmd(qw(CONFIG SET save), '3600 1');
my $folder = $redis->cmd(qw(CONFIG GET dir))->[1];
mkdir "$folder/dump.rdb" or die "$folder: $!";    # nothing can be renamed to it, by root neither
$redis->cmd('BGSAVE');
wait_until { "@{[$redis->ask('PING')]}" =~ /^MISCONF/ } what => 'MISCONF';

is ask(), '200 PASSED', 'a connection made now serves checks';
is ask(), '200 PASSED', 'more of them';
$nginx->wait_log(qr/refuses charges: unwilling: .*\(\S+: "MISCONF /);
$redis->drop_clients;
is ask(), '200 PASSED', 'on another connection too';
is ask(), '429 REJECTED', 'what waits counts here';
is $redis->used('k'), 0, 'nothing is stored';
rmdir "$folder/dump.rdb";
$redis->cmd('BGSAVE');
wait_until { $redis->used('k') == 3 } what => 'all that waited';
$nginx->stop;
is $nginx->count_log(qr/could not be checked|doubt|dropped|does not serve/), 0, 'nothing was lost, nobody down';

done;
