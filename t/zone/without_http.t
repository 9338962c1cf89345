# Without a master process a reload may take the whole http block away: what the process has begun goes on in the memory of the zone, which a later configuration gets
# again.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $http  = "http { %%HTTP%%\n" . redis_block('main', $redis, 'overrides shared; ' . timeouts('9s'))
    . 'server { listen 127.0.0.1:%%PORT%%; location / { rate_limit_key k; rate_limit 1000r/h store=main; } } }';
my $nginx = RateLimit::Nginx->create(workers => 1, conf => "master_process off; events {} $http");
$nginx->{process} = RateLimit::Process->start(
    command => [$nginx->command], output => $nginx->folder . '/output', name => 'nginx', parent_death => 15);
my $reloads = 0;
my sub take_up ($conf) {
    $nginx->{conf} = "master_process off; events {} $conf";
    $nginx->write_config;
    $nginx->{process}->signal('HUP');
    ++$reloads;
    wait_until { !$nginx->alive || $nginx->count_log(qr/\d: reconfiguring/) == $reloads } what => 'the reload';
}
wait_until { $redis->calls('hmget') > 1 } what => 'looks at what machines share';
$redis->freeze;
my $client = $nginx->http;
$client->start_request('GET', '/');
let_pass(1.3);  # there is a look a second: one more waits for its answer
take_up('');
$redis->thaw;
is $client->response->status, 200, 'who was waiting is answered';
let_pass(1.5);  # longer than the pause between two looks
ok $nginx->alive, 'nginx lives';
take_up('');
# nginx itself takes no requests any more: without a master process it has no connections after a reload.
$nginx->expect_log(qr/worker_connections are not enough/);
take_up($http);
let_pass(1.5);
ok $nginx->alive, '... also when it has http again';
is $nginx->count_log(qr/\[emerg\]/), 0, 'nothing is refused';
done;
