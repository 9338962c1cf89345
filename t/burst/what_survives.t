# The content of a bucket survives a reload; a bucket in Redis also survives a stop of nginx, and a restart of Redis with its data. A `local` bucket is full after a
# new start, and so is a bucket whose key Redis has lost.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(appendonly => 1);
my %options = (
    http   => redis_block('main', $redis) . 'rate_limit_key all;',
    server => 'location /local { rate_limit 1r/d burst=9 name=local; }
        location /redis { rate_limit 1r/d burst=9 name=redis store=main; rate_limit_on_error deny; }',
);
my $nginx = RateLimit::Nginx->start(%options);
my sub used () { return join ' ', map { limits($nginx->get("/$_"))->{used} } qw(local redis) }

is used(), '1 1', 'a token of each';
$nginx->reload(%options, wait_old => 1);
is used(), '2 2', 'after a reload: one more';
$nginx->stop(graceful => 1);
$nginx = RateLimit::Nginx->start(%options);
is used(), '1 3', 'after a stop: the local one was full, that in Redis was not';
$redis->restart;
wait_until { (limits($nginx->get('/redis'))->{used} // 0) == 4 } what => 'Redis, which has it still';
$nginx->stop(graceful => 1);
$redis->flush;
$nginx = RateLimit::Nginx->start(%options);
is used(), '1 1', 'Redis has lost it: it is full';

done;
