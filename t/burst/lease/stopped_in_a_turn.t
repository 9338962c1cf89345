# A worker is held up in the middle of a turn of its event loop, for longer than tokens live: what it does in the rest of the turn does not spend
# tokens that are dead by then, although nginx's clock stands still. Here a log that nobody reads holds it up.

use RateLimit::Test;
use RateLimit::FullLog;

my $redis = RateLimit::Redis->start;
my $log   = RateLimit::FullLog->new;
my $nginx = RateLimit::Nginx->start(
    workers => 1,
    http    => redis_block('main', $redis, timeouts('9s')) . $log->format . ' rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease;
        add_header X-Source $rate_limit_source always;',
    server  => 'location / { rate_limit 100r/s burst=2000; rate_limit_lease 500; } location /log { rate_limit off; ' . $log->directive . ' }',
);

my ($first, $second, $third) = map { $nginx->http } 1 .. 3;
$_->get('/x?k=other') for $second, $third;
wait_until { $third->get('/x?k=k')->header('X-Source') eq 'tokens' } what => 'a token of a batch';

$first->get('/log') for 1 .. 2;    # the second line finds no room
$second->start_request(GET => '/log');
$third->start_request(GET => '/x?k=k');
ok $log->read_line, 'a line is read: the next turn begins, with both requests';
is $second->response->status, 200, '... and is held up after the first of them';
let_pass(1.5);
ok $log->read_line, 'a line is read, when the tokens are dead';
is $third->response->header('X-Source'), 'primary', 'the second request spends another batch';

done;
