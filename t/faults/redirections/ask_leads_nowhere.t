# Row 31 of the fault matrix. While a slot moves to a node that is down, charges wait and are tried now and then; to one that is cut off
# after it got them, they are in doubt once, and are not sent again.

use RateLimit::Test;

my ($here, $there) = (free_port(), free_port());
my $reset = (time + 1800) . '000';
my $moving = RateLimit::Cluster->slot_of('rl:default/3600:moving');
my $node = RateLimit::FakeRedis->start(port => $here, handler => sub ($words, $conn) {
    my $command = $words->[0];
    return cluster_slots([0, 16383, "127.0.0.1:$here"]) if $command eq 'cluster';
    my $slot = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
    return hmget(undef, undef) if $command eq 'hmget';
    return error("ASK $slot 127.0.0.1:$there") if $slot == $moving;
    return $command eq 'hincrby' ? integer(5) : array(integer(1), integer($reset));
});
my $target = RateLimit::FakeRedis->start(port => $there, handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hincrby|eval|evalsha)$/;
    $conn->close(1) if $conn->state('cuts');
    return $words->[0] eq 'hincrby' ? integer(5) : array(integer(1), integer($reset));
});
$target->stop;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$here; check_timeout 2s; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; }',
);
my $client = $nginx->http;
my sub ask ($key) { return outcome($client->get("/?k=$key")) }
my sub tried () { return scalar grep { "@$_" =~ /:moving\b/ } $node->writes }

wait_until { ask('other') eq '200 PASSED' } what => 'the map';
is ask('moving'), '200 PASSED', 'a request passes';
wait_until { tried() } what => 'its charge to be tried';
$node->forget;
let_pass(1);
cmp_ok tried(), '<=', patience(40), 'its charge is tried now and then: ' . tried();
is ask('other'), '200 PASSED', 'other slots of the node are served';
wait_until { grep { "@$_" =~ /:other\b/ } $node->writes } what => 'a charge of another slot';
$target->launch;
wait_until { $target->writes } timeout => 20, what => 'the charge to arrive';
let_pass(0.3);
my @commands = map { $_->[0] } grep { $_->[0] =~ /asking|eval|hincrby/ } $target->commands;
is "@commands", 'asking eval', 'it arrives once, with its text, after ASKING';

$target->set(cuts => 1);
is ask('moving'), '200 PASSED', 'another request passes';
$nginx->wait_log(qr/1 charges for .* were sent and not answered: they are in doubt/);
let_pass(1);
is scalar($target->writes), 2, 'what was sent and not answered is not sent again';
is $nginx->count_log(qr/in doubt/), 1, 'it is in doubt once';
is $nginx->count_log(qr/were dropped/), 0, 'nothing is dropped';

done;
