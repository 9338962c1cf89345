# Row 31 of the fault matrix. Two nodes that send a command to each other for ever: a request is answered after a few redirections, charges
# wait and are tried now and then, others of the same nodes go on; when the nodes agree, what waited arrives once.

use RateLimit::Test;

my @ports = (free_port(), free_port());
my $reset = (time + 1800) . '000';
my $looping = RateLimit::Cluster->slot_of('loop');

# Keys of the slot in question go from one to the other while "loops"; then the first one takes them.
my sub handler ($me) {
    return sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots([0, 16383, "127.0.0.1:$ports[0]"]) if $command eq 'cluster';
        my $slot = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        my $loops = $me || ($conn->state('loops') // '') =~ ($command eq 'hmget' ? qr/reads/ : qr/writes/);
        return error("MOVED $slot 127.0.0.1:$ports[1 - $me]") if $slot == $looping && $loops;
        return hmget(undef, undef) if $command eq 'hmget';
        return integer(5)          if $command eq 'hincrby';
        return array(map { integer($_) } @$words < 10 ? (1, $reset) : (1, 1, $reset));
    };
}
my @nodes = map { RateLimit::FakeRedis->start(port => $ports[$_], handler => handler($_)) } 0, 1;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$ports[0]; check_timeout 2s; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
);
my $client = $nginx->http;
my sub ask ($uri) { return outcome($client->get($uri)) }
my sub questions () {
    return sum0 map { scalar grep { "@$_" =~ /^hmget .*:\{loop\}|^evalsha .*:\{loop\}(?: \S+){6}/ } $_->commands } @nodes;
}
my sub writes () { return sum0 map { scalar grep { "@$_" =~ /:\{loop\}/ } $_->writes } @nodes }

wait_until { ask('/?k=other') eq '200 PASSED' } what => 'the map';
$nodes[0]->set(loops => 'reads and writes');
for my $uri ('/', '/reserve') {
    $_->forget for @nodes;
    my $begun = monotonic();
    is ask("$uri?k={loop}"), '200 ERROR_ALLOWED', "$uri: by rate_limit_on_error";
    cmp_ok monotonic() - $begun, '<', patience(1.5), '... and not after check_timeout';
    cmp_ok questions(), '<=', 6, '... after a few redirections';
}

# One charge waits, perhaps with those of the requests above.
$nodes[0]->set(loops => 'writes');
is ask('/?k={loop}'), '200 PASSED', 'a check passes';
wait_until { writes() >= 6 } what => 'its charge to be tried';
$_->forget for @nodes;
let_pass(1);
cmp_ok writes(), '<=', patience(200), 'its charge is tried now and then: ' . writes();
is ask('/reserve?k=other'), '200 PASSED', 'other slots of the node are served';
ask('/?k=other') for 1 .. 3;
wait_until { grep { "@$_" =~ /:other\b/ } $nodes[0]->writes } what => 'charges of other slots';
$nodes[0]->set_and_forget(loops => '');
my sub arrived () {
    my $charged = $nodes[0]->charged;
    return map { $charged->{$_} // 0 } 'rl:default/3600:{loop}', 'rl:r/3600:{loop}';
}
wait_until { sum0(arrived()) >= 3 } what => 'what waited to arrive';
let_pass(0.3);
is_deeply [arrived()], [2, 1], 'what waited arrives once';
$nginx->stop;
is $nginx->count_log(qr/in doubt|were dropped/), 0, 'nothing is in doubt';

done;
