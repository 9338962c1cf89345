# Without a master process failovers are followed, too. nginx itself serves nothing after a reload then; the module survives it.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start;
my $conf = "master_process off; events {} http { %%HTTP%%\n" . $set->block('main', 'check_timeout 2s;')
    . 'server { listen 127.0.0.1:%%PORT%%; location / { rate_limit_key $http_x_key; rate_limit 1000r/h store=main mode=charge_refund; rate_limit_on_error deny; } } }';
my $nginx = RateLimit::Nginx->create(conf => $conf, workers => 1);
$nginx->{process} = RateLimit::Process->start(
    command => [$nginx->command], output => $nginx->folder . '/output', name => 'nginx', parent_death => 15);
my sub ask ($key) { return (eval { $nginx->get('/x', 'X-Key' => $key)->status } // 0) }
my sub asked () { return map { scalar(grep { ($_->{cmd} // '') =~ /^sentinel\|/ } $_->clients) } $set->sentinels }
wait_until { ask('a') == 200 } what => 'nginx to serve';
wait_until { "@{[asked()]}" eq '1 1 1' } what => 'one connection to each sentinel';
my $new = $set->failover;
wait_until { ask('b') == 200 && $new->used('b') } what => 'the new primary';

$nginx->{process}->signal('HUP');
$nginx->wait_log(qr/reconfiguring/);
let_pass(0.2);
$new->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
$nginx->wait_log(qr/makes no connections any more after a reload/);
ok $nginx->alive, 'a reload ends nothing';

done;
