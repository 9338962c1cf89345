# Charges that wait for a primary outlive the workers that served their requests: killed one by one or all at once,
# those that follow deliver each charge once, without a further request.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(appendonly => 1);
my $nginx = RateLimit::Nginx->start(
    workers => 3, reuseport => 1,
    http    => redis_block('main', $redis) . '
        add_header X-Worker $pid always;',
    server => 'location / { rate_limit_key $http_x_key; rate_limit 100r/h store=main; }
        location /free { }',
);

# Returns the workers that served.
sub requests ($name, $count) {
    my @responses = $nginx->parallel(connections => 8, requests => $count, uri => '/x', headers => ['X-Key' => $name]);
    is_deeply statuses(@responses), {200 => $count}, "$name: $count requests pass";
    return workers_of(@responses);
}

# A worker that answers another request has charged those before it.
sub wait_charged (@workers) {
    my %left = map { $_ => 1 } @workers;
    wait_until { delete $left{$nginx->get('/free')->header('X-Worker')}; !%left } what => 'each worker';
    return;
}

requests('a', 4);
wait_until { $redis->used('a') == 4 } what => 'the first charges';
for my $which ('those that served', 'all at once') {
    my ($stored, $name) = ($redis->used('a'), $which =~ s/ .*//r);
    $redis->kill;
    my @served = (requests('a', 16), requests("new-$name", 8), requests("other-$name", 1));
    wait_charged(@served);
    if ($which eq 'all at once') {
        my @all = $nginx->workers;
        $nginx->expect_log(map { qr/worker process $_ exited on signal 9/ } @all);
        kill KILL => @all;
        wait_until { my @now = $nginx->workers; @now == 3 && !grep { my $new = $_; grep { $_ == $new } @all } @now }
            what => 'new workers';
    } else {
        my %served = map { $_ => 1 } @served;
        $nginx->kill_worker($_) for keys %served;
    }
    $redis->restart;
    my %due = (a => $stored + 16, "new-$name" => 8, "other-$name" => 1);
    wait_until { !grep { $redis->used($_) != $due{$_} } keys %due } what => "what waited, $which";
    is $redis->calls('hmget'), 0, "$which: no request brought it on";
    cmp_ok $redis->calls('evalsha'), '<=', 3, 'no more than one charge for each window';
}
is limits($nginx->get('/x', 'X-Key' => 'a'))->{used}, 37, 'and it goes on';
wait_until { $redis->used('a') >= 37 } what => 'the last charge';
$nginx->stop;
is $redis->used('a'), 37, 'nothing came twice';
is $nginx->count_log(qr/are lost/), 0, 'and nothing is lost';

done;
