# Row 31 of the fault matrix. A redirection that answers a question of which nobody waits for the answer any more is not followed, and
# harms no worker.

use RateLimit::Test;

my ($here, $there) = (free_port(), free_port());
my $map = cluster_slots([0, 8191, "127.0.0.1:$here"], [8192, 16383, "127.0.0.1:$there"]);
my $node = RateLimit::FakeRedis->start(port => $here, handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return $map if $command eq 'cluster';
    return fallback($words) if $command !~ /^(?:hmget|evalsha)$/;
    my $slot = RateLimit::Cluster->slot_of($arguments[$command eq 'hmget' ? 0 : 2]);
    return $conn->hold('gate', error("MOVED $slot 127.0.0.1:$there"));
});
my $reset = (time + 1800) . '000';
my $other = RateLimit::FakeRedis->start(port => $there, handler => sub ($words, $conn) {
    my $command = $words->[0];
    return $map if $command eq 'cluster';
    return hmget(undef, undef) if $command eq 'hmget';
    return integer(5)          if $command eq 'hincrby';
    return fallback($words) if $command ne 'evalsha';
    return array(map { integer($_) } @$words < 10 ? (1, $reset) : (1, 1, $reset));    # a charge; a reservation
});
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$here; check_timeout 60ms; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny;
        location /check { rate_limit 10r/h name=c; } location /reserve { rate_limit 10r/h name=r mode=charge_refund; }',
);

my sub keys_at ($name, $upper) {
    return grep { (RateLimit::Cluster->slot_of("rl:$name/3600:$_") >= 8192) eq $upper } 1 .. 100;
}
my ($worker) = $nginx->workers;
for my $case (['c', '/check', 'hmget'], ['r', '/reserve', 'evalsha']) {
    my ($name, $uri, $command) = @$case;
    my ($key)       = keys_at($name, '');
    my ($elsewhere) = keys_at($name, 1);
    wait_until { $nginx->get("$uri?k=$elsewhere")->status == 200 } what => 'the other node to be connected';
    $other->forget;
    wait_until { $nginx->get("$uri?k=$key")->status == 503 && $node->commands($command) } what => "a $command that nobody waits for";
    $node->release('gate');
    $nginx->get("$uri?k=$elsewhere") for 1 .. 3;
    wait_until { $other->commands } what => 'the other node to be asked for its own';
    is_deeply [grep { "@$_" =~ /:$key\b/ } $other->commands], [], "the $command goes nowhere else";
}
is_deeply [$nginx->workers], [$worker], 'the worker lives';

done;
