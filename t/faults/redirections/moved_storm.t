# Row 31 of the fault matrix. Nodes answer thousands of requests a second by MOVED: the map is asked for now and then, by one worker of the
# machine.

use RateLimit::Test;

my @ports = (free_port(), free_port());
my sub handler ($me) {
    return sub ($words, $conn) {
        my $command = $words->[0];
        return cluster_slots([0, 16383, "127.0.0.1:$ports[0]"]) if $command eq 'cluster';
        my $slot = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        return error("MOVED $slot 127.0.0.1:$ports[1 - $me]");
    };
}
my @nodes = map { RateLimit::FakeRedis->start(port => $ports[$_], handler => handler($_)) } 0, 1;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => "rate_limit_redis main { cluster 127.0.0.1:$ports[0]; check_timeout 5s; connect_timeout 9s; charge_timeout 20s; }",
    server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 1000r/h mode=charge_refund; }',
);
my sub maps () { return sum0 map { scalar $_->commands('cluster') } @nodes }
wait_until { maps() } what => 'the map';
$_->forget for @nodes;
my $begun = monotonic();
my $flood = RateLimit::Flood->start(port => $nginx->port, uris => [map { "/?k=$_" } 1 .. 20], requests => 2000, connections => 8);
my $counts = $flood->counts;
is $counts->{2}, 2000, 'all requests go by rate_limit_on_error' or diag explain $counts;
my $moved = sum0 map { scalar $_->writes } @nodes;
cmp_ok $moved, '>', 2000, "$moved answers are MOVED in $counts->{seconds} s";
# The gaps are 0.1, 0.2, 0.4, 0.8 s, and then 1 s; they begin anew where the worker that asks is held up for so long that the other one goes on.
my $maps = maps();
cmp_ok $maps, '<=', 8 + monotonic() - $begun, "the map is asked for now and then: $maps";

done;
