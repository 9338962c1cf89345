# Without a master process a reload may take a rate_limit_redis block away, or give its shards other masters: the memory of before is
# kept, for the process goes on with what it has there.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $sentinel = RateLimit::FakeRedis->start(handler => watching, state => {primary => '127.0.0.1 ' . $redis->port . ' 0'});
my sub conf ($blocks, $limit = 'rate_limit 1000r/h;') {
    return "master_process off; events {} http { %%HTTP%%\n$blocks server { listen 127.0.0.1:%%PORT%%; location / { rate_limit_key k; $limit } } }";
}
my sub block ($name, $master) {
    return "rate_limit_redis $name { sentinel @{[$sentinel->address]}; shard a master=$master; @{[timeouts('9s')]} }\n";
}
my $nginx = RateLimit::Nginx->create(conf => conf(block('main', 'm'), 'rate_limit 1000r/h store=main;'), workers => 1);
$nginx->{process} = RateLimit::Process->start(
    command => [$nginx->command], output => $nginx->folder . '/output', name => 'nginx', parent_death => 15);
$nginx->wait_log(qr/sentinels name/);
# After a reload without a master process nginx has no connections to give, and a silent server would get a second one.
wait_until { $redis->calls('ping') } what => 'the primary to be connected';

my $reloads = 0;
for my $next (
    ['other masters', conf(block('main', 'n'), 'rate_limit 1000r/h store=main;')],
    ['another name',  conf(block('other', 'n'), 'rate_limit 1000r/h store=other;')],
    ['no block',      conf('')],
    ['the first one', conf(block('main', 'm'), 'rate_limit 1000r/h store=main;')],
) {
    $nginx->{conf} = $next->[1];
    $nginx->write_config;
    $nginx->{process}->signal('HUP');
    ++$reloads;
    wait_until { $nginx->count_log(qr/\d: reconfiguring/) == $reloads } what => 'the reload';
    # The sentinel is asked by what was there before, too.
    my $asked = () = $sentinel->commands('sentinel');
    wait_until { !$nginx->alive || $sentinel->commands('sentinel') > $asked + 6 } what => 'some rounds';
    ok $nginx->alive, "$next->[0]: nginx lives";
}
is $nginx->count_log(qr/\[(?:emerg|alert)\]/), 0, 'nothing is refused';

done;
