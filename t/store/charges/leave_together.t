# Under load charges leave together, more at a time than requests run at a time, unless nginx's timers are too coarse. A
# worker that leaves sends them first.

use RateLimit::Test;

my $clients = 4;
my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $primary = $shards->primary;
sub start (@more) {
    return RateLimit::Nginx->start(
        @more,
        http => $shards->block('main', 'check_timeout 2s;') . 'rate_limit_key $arg_k; rate_limit_store main;
            keepalive_requests 1000000;
            server { listen 127.0.0.1:%%PORT_1%% http2; location / { rate_limit 1000000r/d; } }');
}
my $nginx = start();
sub reads () { return $primary->info('stats')->{total_reads_processed} }

my ($admitted, $burst) = (0, 2000);
sub burst () {
    $admitted += h2load($nginx->port(1), '/x?k=a', requests => $burst, clients => $clients)->{2};
    return;
}

my $together;
wait_until {
    my $before = reads();
    burst();
    wait_until { $primary->used('a', 'default/86400') == $admitted } what => 'the charges';
    $together = $burst / (reads() - $before);
    $together > 2 * $clients
} timeout => 120, what => 'charges to leave together';
note sprintf '%.1f at a time', $together;
is $admitted % $burst, 0, 'all requests passed';

# nginx would end that wait only with the next tick.
my $coarse = start(main => 'timer_resolution 60s;');
$admitted += h2load($coarse->port(1), '/x?k=a', requests => $burst, clients => $clients)->{2};
wait_until { $primary->used('a', 'default/86400') == $admitted } what => 'the charges';
$coarse->kill;

# The worker is told to leave as soon as a request of the burst is charged; anew where the whole burst was faster than that.
sub leave ($signal) {
    return wait_until {
        my ($worker, $before) = (($nginx->workers)[0], $admitted);
        my $redis  = bless {port => $primary->port}, 'RateLimit::Redis';    # a connection of its own
        my $teller = RateLimit::Process->start(name => 'teller', run => sub {
            wait_until { $redis->used('a', 'default/86400') > $before } what => 'the next charge';
            kill $signal => $nginx->pid;
        });
        burst();
        $teller->wait(30) or die 'the signal was not sent';
        wait_until { !kill 0 => $worker } what => 'the end of the worker';
        my $under_load = $admitted - $before < $burst;
        $nginx = start() if !$under_load;
        $under_load
    } what => "$signal to come under load";
}

leave('QUIT');
is $primary->used('a', 'default/86400'), $admitted, 'a worker that leaves sends what waits for others';

for (1 .. 3) {
    $nginx = start();
    $admitted = $primary->used('a', 'default/86400');
    leave('TERM');
    cmp_ok $primary->used('a', 'default/86400'), '>=', $admitted, 'in a fast stop, too';
}

done;
