# maxmemory with a policy that evicts is warned about once, although every worker sees it.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(args => ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
my $nginx = RateLimit::Nginx->with_limit('9000r/h', redis_block('main', $redis), workers => 3);
wait_until { 3 == grep { / cmd=ping / } split /\n/, $redis->cmd('CLIENT', 'LIST', 'TYPE', 'normal') } what => 'every worker to be connected';
$nginx->stop;
is $nginx->count_log(qr/\[warn\].*primary \Q@{[$redis->address]}\E of shard "a" of "main".*noeviction/), 1, 'one warning';
is $nginx->count_log(qr/\[warn\].*maxmemory/), 1, 'and no other';

done;
