# Row 31 of the fault matrix. A worker that was stopped past a deadline reads the answers that lie in its sockets, and one of them makes a
# replica the primary of its group, or names a node that nobody knows: the commands go there, and the worker lives.

use RateLimit::Test;

my ($here, $there, $new) = map { free_port() } 1 .. 3;
my $reset = (time + 1800) . '000';
my sub handler ($to) {
    return sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots([0, 16383, "127.0.0.1:$here", "127.0.0.1:$there"]) if $command eq 'cluster';
        my $slot = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        return hmget(undef, undef) if $command eq 'hmget';
        return $conn->hold('gate', error("MOVED $slot 127.0.0.1:$to")) if $conn->state('held');
        return $command eq 'hincrby' ? integer(8) : array(map { integer($_) } @$words < 10 ? (1, $reset) : (1, 1, $reset));
    };
}
my @nodes = map { RateLimit::FakeRedis->start(port => $_->[0], handler => handler($_->[1])) } [$here, $there], [$there, $new], [$new, $new];

# False where the machine was too slow: a worker that was late waits 100 ms more for what is overdue, and no longer.
my sub follows () {
    $_->set_and_forget(held => '') for @nodes;
    my $nginx = RateLimit::Nginx->start(
        http   => "rate_limit_redis main { cluster 127.0.0.1:$here; check_timeout 2s; connect_timeout 2s; }",
        server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
            location / { rate_limit 1000r/h mode=charge_refund; }',
    );
    my ($worker) = $nginx->workers;
    wait_until { outcome($nginx->get('/?k=first')) eq '200 PASSED' } what => 'the map';
    for my $i (0, 1) {
        $nodes[$i]->set(held => 1);
        my @clients = map { $nginx->begin("/?k=$i-$_") } 1 .. 5;
        wait_until { 5 == grep { "@$_" =~ /:$i-/ } $nodes[$i]->writes } what => 'what they ask';
        kill STOP => $worker;
        $nodes[$i]->release('gate');
        let_pass(2.5);
        kill CONT => $worker;
        my $woken    = monotonic();
        my @statuses = map { $_->response->status } @clients;
        if (monotonic() - $woken > 0.08 && grep { $_ != 200 } @statuses) {
            $nginx->stop;
            return 0;
        }
        is_deeply \@statuses, [(200) x 5], "round $i: all pass";
        wait_until { outcome($nginx->get("/?k=$i-1")) eq '200 PASSED' } what => 'its slot to be served';
        wait_until { grep { "@$_" =~ /:$i-1\b/ } $nodes[$i + 1]->writes } what => 'the other node to be asked';
        $nodes[$i]->set(held => '') if $i;
    }
    is_deeply [$nginx->workers], [$worker], 'the worker lives';
    return 1;
}
wait_until { follows() } timeout => 60, what => 'a machine that is fast enough';

done;
