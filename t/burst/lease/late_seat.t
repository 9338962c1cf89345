# A worker is held up in the middle of a turn, for longer than tokens live, while a batch is on its way: a request that comes meanwhile takes no
# seat in that batch, whose tokens may be dead, although nginx's clock stands still. Here a log that nobody reads holds it up.

use RateLimit::Test;
use Fcntl qw(O_RDWR O_NONBLOCK);
use POSIX qw(mkfifo);

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $conn->state('slow') && $words->[0] =~ /^eval/ ? $conn->hold('gate', $answer) : $answer;
}));
my $pipe  = test_folder() . '/log';
mkfifo($pipe, 0600) or die "mkfifo: $!";
sysopen(my $log, $pipe, O_RDWR | O_NONBLOCK) or die "open: $!";
fcntl($log, 1031, 4096) or die "F_SETPIPE_SZ: $!";
my $line  = 'x' x 2999;
my $nginx = RateLimit::Nginx->start(
    workers => 1,
    http    => redis_block('main', $relay, timeouts('60s')) . "log_format long '$line'; rate_limit_key \$arg_k; rate_limit_store main; rate_limit_mode lease;",
    server  => "location / { rate_limit 100r/s burst=2000; rate_limit_lease 500; } location /log { rate_limit off; access_log $pipe long; }",
);
my sub scripts () { return scalar grep { $_->[0] =~ /^eval/ && $_->[3] =~ /:k$/ } $relay->commands }
my sub read_line () { return sysread($log, my $bytes, 3000) == 3000 }

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
ok read_line(), 'a line is read: the next turn begins, with both requests';
is $second->response->status, 200, '... and is held up after the first of them';
let_pass(1.5);
ok read_line(), 'a line is read, when the tokens are dead';
wait_until { scripts() == 2 } timeout => 5, what => 'the second request to ask for tokens of its own';
$relay->set(slow => '');
$relay->release('gate');
is_deeply [map { $_->response->status } $opener, $third], [200, 200], 'both pass';

done;
