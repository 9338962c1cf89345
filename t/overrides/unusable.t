# The overrides that machines share are gone from Redis, are garbage, above 512 KB, or of another version of the module: each machine says so once, and
# the last good ones hold. The next act writes them anew, with those.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    clock   => 1, workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared; ' . timeouts('9s')) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage keys=plain; } location / { rate_limit 1000r/h store=main; }',
);
my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub act ($body) { is $nginx->post('/limits/key', $body, @form)->status, 200, $body }
my sub settled ($key) { return join ' ', sort { $a <=> $b } keys %{statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. 8)} }

my $key   = 'rl:!overrides';
my $later = 9_000_000_000_000;
my %cases = (
    'gone'                              => sub { $redis->cmd('DEL', $key) },
    'not what this module writes'       => sub { $redis->cmd('HSET', $key, 'version', ++$later, 'default/:x', '1 nonsense') },
    'above 512 KB'                      => sub { $redis->cmd('HSET', $key, 'version', ++$later, 'default/:x', 'x' x 1_048_576) },
    'of another version of this module' => sub { $redis->cmd('HSET', $key, 'version', ++$later, 'default/:x', '2 ban') },
);
my $line = qr/\[error\].* the overrides at "rl:!overrides" of "rate_limit_redis main" are /;
act('do=ban&limit=default&key=a');
for my $case (sort keys %cases) {
    my $told = $nginx->count_log($line);
    act("do=ban&limit=default&key=" . substr $case, 0, 2);
    $cases{$case}->();
    $nginx->wait_log(qr/$line$case: those that were known hold until they end; the next one that is set replaces what is there/);
    $redis->forget_calls;
    wait_until { $redis->calls('hmget') > 1 } what => 'more looks';
    is $nginx->count_log($line), $told + 1, "$case: said once";
    is settled('a'), 429, '... and what was known holds';
    act('do=ban&limit=default&key=b');
    is settled($_), 429, "... after the next act, too: $_" for 'a', 'b', substr $case, 0, 2;
    my $stored = $redis->hash($key);
    like $stored->{'default/:a'}, qr/^1 ban 0 \d+ \d+ 127\.0\.0\.1$/, '... which has written it to Redis';
    is $stored->{'default/:x'}, undef, '... in place of what was there';
    act('do=clear&limit=default&key=b');
    is settled('b'), 200, '... and can be cleared';
}

$redis->cmd('DEL', $key);
$redis->cmd('SET', $key, 'a string');
$nginx->wait_log(qr/${line}not a hash: those that were known hold until they end; none can be set until you delete that key in Redis/);
is settled('a'), 429, 'a string in its place';
is $nginx->post('/limits/key', 'do=ban&limit=default&key=c', @form)->status, 503, 'nothing can be set then';
$nginx->expect_log(qr/WRONGTYPE|holds something/);
$nginx->travel('+3601s');
wait_until { settled('a') eq '200' } what => 'the end of what was known';
done;
