# A worker is held up in the middle of a turn, for longer than tokens live, while a batch is on its way: a request that comes meanwhile takes no
# seat in that batch, whose tokens may be dead, although nginx's clock stands still. Here a log that nobody reads holds it up.

use RateLimit::Test;
use RateLimit::FullLog;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $conn->state('slow') && $words->[0] =~ /^eval/ ? $conn->hold('gate', $answer) : $answer;
}));
my $log   = RateLimit::FullLog->new;
my $nginx = RateLimit::Nginx->start(
    workers => 1,
    http    => redis_block('main', $relay, timeouts('60s')) . $log->format . ' rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease;',
    server  => 'location / { rate_limit 100r/s burst=2000; rate_limit_lease 500; } location /log { rate_limit off; ' . $log->directive . ' }',
);
my sub scripts () { return scalar grep { $_->[0] =~ /^eval/ && $_->[3] =~ /:k$/ } $relay->commands }

my ($opener, $first, $second, $third, $fourth) = map { $nginx->http } 1 .. 5;
$_->get('/x?k=other') for $opener, $second, $third, $fourth;
$relay->set(slow => 1);
$opener->start_request(GET => '/x?k=k');
wait_until { scripts() == 1 } what => 'a batch to be asked for';
$fourth->get('/log');
$first->start_request(GET => '/log');     # finds no room
is $first->response->status, 200, 'the log is full';
$second->start_request(GET => '/log');
$third->start_request(GET => '/x?k=k');
ok $log->read_line, 'a line is read: the next turn begins, with both requests';
is $second->response->status, 200, '... and is held up after the first of them';
let_pass(1.5);
ok $log->read_line, 'a line is read, when the tokens are dead';
wait_until { scripts() == 2 } timeout => 5, what => 'the second request to ask for tokens of its own';
$relay->set(slow => '');
$relay->release('gate');
is_deeply [map { $_->response->status } $opener, $third], [200, 200], 'both pass';

done;
