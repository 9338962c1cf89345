# Without a master process a reload may take the whole http block away: who looks after shared overrides goes on without one.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->create(
    workers => 1,
    conf    => "master_process off; events {} http { %%HTTP%%\n" . redis_block('main', $redis, 'overrides shared; ' . timeouts('9s'))
        . 'server { listen 127.0.0.1:%%PORT%%; location / { rate_limit_key k; rate_limit 1000r/h store=main; } } }',
);
$nginx->{process} = RateLimit::Process->start(
    command => [$nginx->command], output => $nginx->folder . '/output', name => 'nginx', parent_death => 15);
wait_until { $redis->calls('hmget') > 0 } what => 'a look';
$nginx->{conf} = 'master_process off; events {}';
$nginx->write_config;
$nginx->{process}->signal('HUP');
$nginx->wait_log(qr/reconfiguring/);
let_pass(1.5);  # longer than the pause between two looks
ok $nginx->alive, 'it lives';
done;
