# A node is down in the console while one living worker holds it for down: one of two is enough, and the word of a killed worker does not stay.

use RateLimit::Test;
use JSON::PP;

# A worker connects by itself, but for one that is stopped.
my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $proxy),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 100000r/h name=n mode=charge_refund; add_header X-Worker $pid always; }',
);
my sub node () { my ($store) = @{$nginx->told->{stores}}; return $store->{shards}[0]{nodes}[0] }

# A connection to each worker, by the worker's number.
my %client;
wait_until {
    my $client = $nginx->http;
    my $worker = $client->get('/?k=1')->header('X-Worker');
    $client{$worker} //= $client;
    keys %client == 2;
} what => 'each worker to answer';
my ($one, $other) = sort keys %client;
my sub ask ($worker) { return $client{$worker}->get('/?k=' . rand)->status }
is node()->{up}, JSON::PP::true, 'up';
my $since = node()->{since};

# New connections lead nowhere; the other worker has not noticed that it has lost the one that it had.
my $nowhere = free_port();
ask($_) for $one, $other;
my sub cut_off () {
    kill 'STOP', $other;
    $proxy->lead_to($nowhere);
    $proxy->drop;
    return;
}
cut_off();
wait_until { ask($one); !node()->{up} } what => 'one worker to hold it for down';
my $down = node()->{since};
cmp_ok $down, '>', $since, 'since then';

$proxy->lead_to($redis->port);
kill 'CONT', $other;
wait_until { ask($other); ask($one); node()->{up} } what => 'both to be connected again';

cut_off();
wait_until { ask($one); !node()->{up} } what => 'one worker to hold it for down again';
kill 'STOP', $one;    # it keeps its word
$proxy->lead_to($redis->port);
kill 'KILL', $one;
$nginx->expect_log(qr/exited on signal 9/);
wait_until { eval { node()->{up} } } what => 'a killed worker to count no more';
pass 'its word does not stay';

kill 'CONT', $other;
wait_until { eval { ask($other); 1 } && node()->{up} } what => 'the other to be connected again';
$proxy->lead_to($nowhere);
$proxy->drop;
wait_until { eval { ask($other); 1 } && !node()->{up} } what => 'the other to hold it for down';
my $held = node()->{since};
my @before = $nginx->workers;
kill 'STOP', @before;    # they keep their words
$proxy->lead_to($redis->port);
$nginx->{process}->signal('HUP');
wait_until { node()->{up} } what => 'workers of before a reload to count no more';
cmp_ok node()->{since}, '>', $held, 'since new ones began';
kill 'CONT', @before;
wait_until { !grep { kill 0 => $_ } @before } what => 'the old workers to leave';
ok node()->{up}, 'it stays up';

done;
