# The caller tells the scripts its own time where the server does not let the user's scripts call TIME: buckets and running requests work as
# elsewhere, and a line in the log says what the clocks must do.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $all   = 'resetchannels -@all +ping +info +select +hmget +hget +hgetall +hset +hdel +hincrby +hlen +del +pttl +pexpire +get +set +bitfield +eval +evalsha +script|load';
$redis->cmd('ACL', 'SETUSER', 'nginx', 'on', '>secret', '~rl:*', split ' ', $all);
my $backend = RateLimit::Backend->start;
my $store   = redis_block('main', $redis, 'username nginx; password secret; ' . timeouts('9s'));
my ($nginx, $ahead) = map {
    RateLimit::Nginx->start(
        up => $backend, workers => 2, clock => 1,
        http   => $store . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;',
        server => 'location / { rate_limit 100r/h burst=20; } location /lease { alias %%DIR%%/html/x; rate_limit 100r/s burst=2000 name=lease mode=lease; }
            location /slots { rate_limit_concurrency 2; proxy_pass http://%%UP%%; }')
} 1, 2;

$_->stand_at(time) for $nginx, $ahead;
is_deeply [map { $nginx->get('/x', 'X-Key' => 'a')->status } 1 .. 21], [(200) x 20, 429], 'a burst, and no more';
is limits($ahead->get('/x', 'X-Key' => 'a'))->{used}, 20, 'another machine knows of it';
is limits($nginx->get('/x', 'X-Key' => 'a'))->{retry_after}, 36, 'and when there is a token';
$_->travel('+0') for $nginx, $ahead;
is $redis->cmd('EXISTS', 'rl:default/3600b:a'), 1, 'it is stored';
my $tag = $nginx->get('/x', 'X-Key' => 'free')->header('ETag');
is $nginx->get('/x', 'X-Key' => 'free', 'If-None-Match' => $tag)->status, 304, 'a free request' for 1 .. 30;
is_deeply [map { $nginx->get('/lease', 'X-Key' => 'lease')->status } 1 .. 100], [(200) x 100], 'a lease';

my @open = map { $_->reach($backend, '/slots/slow', 'X-Key' => 'slots') } $nginx, $ahead;
is $nginx->get('/slots/x', 'X-Key' => 'slots')->status, 429, 'two run on two machines, and no third';
$backend->release('gate');
$_->response for @open;
wait_until { $nginx->get('/slots/x', 'X-Key' => 'slots')->status == 200 } what => 'a slot to be free';

# The clock of a machine that is ahead refills the bucket, as it says itself.
$ahead->travel('+36');
wait_until { $ahead->get('/x', 'X-Key' => 'a')->status == 200 } what => 'its clock to count';
$_->count_log(qr/does not let scripts call TIME: token buckets and running requests count by the clocks of the machines, which must agree; give the user \+time/) == 1
    ? pass 'each machine says so once' : fail 'each machine says so once' for $nginx, $ahead;

# With the right back, and a new connection, the server's time counts again.
$redis->cmd('ACL', 'SETUSER', 'nginx', '+time');
$redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
wait_until { $ahead->get('/x', 'X-Key' => 'c')->status == 200 } what => 'the connection to be back';
$redis->forget_calls;
is_deeply [map { $ahead->get('/x', 'X-Key' => "later$_")->status } 1 .. 3], [(200) x 3], 'then it is asked again';
like $redis->cmd('INFO', 'commandstats'), qr/cmdstat_time:calls=[1-9]/, '... for the time';

done;
