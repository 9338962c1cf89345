# With the store away a report is 503 after check_timeout, also where other reports wait for the same read; with rate_limit_on_error
# local it is what this machine knows, where it knows the window. Limits that need no store do not help: a report tells of all or none.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $mute  = RateLimit::FakeRedis->start(handler => holding_reads());
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 1s; connect_timeout 1s;') . redis_block('mute', $mute, 'check_timeout 1s;'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main;
        location = /use { rate_limit 9r/h; }
        location = /deny  { rate_limit_report; rate_limit 9r/h; rate_limit_on_error deny; }
        location = /allow { rate_limit_report; rate_limit 9r/h; }
        location = /local { rate_limit_report; rate_limit 9r/h; rate_limit_on_error local; }
        location = /mute  { rate_limit_report; rate_limit 9r/h store=mute; rate_limit 9r/h name=here store=local; }',
);
my sub report ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }
my sub is_503 ($response, $what) {
    is $response->body, '{"message":"The limits cannot be read at the moment."}', "$what: a message";
    shows $response, 503, {retry_after => 1}, '... and when to come again, no limits';
    is $response->header('Cache-Control'), 'no-store',         '... not to be kept';
    is $response->header('Content-Type'),  'application/json', '... of a type that clients read';
    return;
}

my @all  = map { $nginx->begin('/mute', 'X-Key' => 'a') } 1 .. 5;
wait_until { $mute->commands('hmget') } what => 'the read';
is_503($_->response, 'a silent store') for @all;
is scalar($mute->commands('hmget')), 1, 'for one read';

$nginx->get('/use', 'X-Key' => 'known') for 1 .. 4;
wait_until { $redis->used('known') == 4 } what => 'the charges';
my $reset = int $redis->stored('known')->{reset} / 1000;
$redis->kill;
wait_until { report('/allow', 'known')->status == 503 } what => 'what the primary told to be old';
is_503(report($_, 'known'), $_) for '/allow', '/deny';
is_503(report('/local', 'stranger'), 'local, for a window that this machine does not know');
my $told = report('/local', 'known');
is_deeply [@{$told->json->{rate}}{qw(limit used remaining)}], [9, 4, 5], 'local: what this machine knows';
ok abs($told->json->{rate}{reset} - $reset) <= 1, '... until the window ends';
$redis->restart;
wait_until { report('/allow', 'stranger')->status == 200 } what => 'the store to be back';
pass 'reports are back with the store';
cmp_ok $nginx->count_log(qr/\[error\].*rate limit "default" in \S+ could not be checked/), '>=', 1, 'the log says why';

done;
