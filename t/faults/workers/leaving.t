# A worker leaves at once when its connections are idle, else with the answers to its charges, and no later than charge_timeout, and
# connect_timeout for what was not sent by then.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
sub start ($name, %opt) {
    my $charge_timeout = 'charge_timeout ' . ($opt{charge_timeout} // '99s') . ';';    # longer than the end of nginx is waited for
    my $connect_timeout = 'connect_timeout ' . ($opt{connect_timeout} // '9s') . ';';
    my $block = redis_block('main', [$proxy, $redis], "check_timeout 9s; $connect_timeout $charge_timeout");
    return RateLimit::Nginx->with_limit("1000r/h name=$name", $block, workers => $opt{workers} // 2);
}
sub seconds ($action) {
    my $begun = monotonic();
    $action->();
    return monotonic() - $begun;
}
sub charged ($name) { return $redis->used('k', "$name/3600") }

my $nginx = start('idle');
$nginx->parallel(connections => 8, requests => 40, uri => '/x', headers => ['X-Key' => 'k']);
wait_until { charged('idle') == 40 } what => 'charges';
ok eval { $nginx->stop }, 'idle connections do not hold a worker';

$nginx = start('pending');
$nginx->get('/x', 'X-Key' => 'k');
wait_until { charged('pending') == 1 } what => 'the charge';
$proxy->stall('questions');
$nginx->parallel(connections => 8, requests => 40, uri => '/x', headers => ['X-Key' => 'k']);
kill QUIT => $nginx->pid;
wait_until { $nginx->old_workers } what => 'workers to be leaving';
is charged('pending'), 1, 'charges are on their way';
$proxy->flow;
ok eval { $nginx->stop }, 'a worker leaves when they are answered';
is charged('pending'), 41, 'and all have been delivered';

$nginx = start('silent', workers => 1, charge_timeout => '3s', connect_timeout => '1s');
$nginx->get('/x', 'X-Key' => 'k');
wait_until { charged('silent') == 1 } what => 'the charge';
$proxy->stall('answers');
$nginx->get('/x', 'X-Key' => 'k') for 1 .. 3;
my $seconds = seconds(sub { $nginx->stop });
cmp_ok $seconds, '>', 0.5, 'a silent Redis is waited for, though not for ever';
like $nginx->error_log, qr/gracefully shutting down.*in doubt.*worker process \d+ exited with code 0/s, 'but for charge_timeout';
$proxy->flow;

my $reloaded = start('reload');
$reloaded->parallel(connections => 8, requests => 40, uri => '/x', headers => ['X-Key' => 'k']);
ok eval { $reloaded->reload(wait_old => 1) }, 'a reload lets old workers go';
is $_->count_log(qr/open socket/), 0, 'no socket is left open' for RateLimit::Nginx::started();

done;
