# A reload, or a graceful stop, while checks wait: the old worker answers its requests, charges them and
# leaves.

use RateLimit::Test;

my $fake = RateLimit::FakeRedis->start(handler => holding_reads());
my $nginx = RateLimit::Nginx->with_limit('99r/h', redis_block('main', $fake, timeouts('20s')));

my @waiting = map { $nginx->begin('/x', 'X-Key' => 'old') } 1 .. 20;
wait_until { $fake->commands('hmget') == 20 } what => 'the checks';
$nginx->reload(server => 'location / { rate_limit_key $http_x_key; rate_limit 5r/h name=new store=main; }');
is scalar($nginx->old_workers), 1, 'the old worker waits for its requests';
my $new = $nginx->begin('/x', 'X-Key' => 'new');
wait_until { $fake->commands('hmget') == 21 } what => 'a check of the new worker';
$fake->release('gate');
is_deeply statuses(map { $_->response } @waiting), {200 => 20}, 'requests of the old worker are answered';
is limits($new->response)->{limit}, 5, 'those of the new one by the new configuration';
wait_until { !$nginx->old_workers } what => 'the old worker to leave';
is $fake->charged->{'rl:default/3600:old'}, 20, 'having charged each';

my $last = $nginx->begin('/x', 'X-Key' => 'last');
wait_until { $fake->commands('hmget') == 22 } what => 'the check';
kill QUIT => $nginx->pid;
wait_until { $nginx->old_workers } what => 'the worker to shut down';
$fake->release('gate');
is $last->response->status, 200, 'a graceful stop waits too';
$nginx->stop;
is $fake->charged->{'rl:new/3600:last'}, 1, 'and charges';

done;
