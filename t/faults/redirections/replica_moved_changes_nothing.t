# Row 27 of the fault matrix. A slot has moved, and a replica does not know it yet: it sends reads to the primary of before. They are answered,
# and the slot stays where it is: meanwhile reservations and charges go to the primary of now.

use RateLimit::Test;

my ($before, $now, $replica) = (free_port(), free_port(), free_port());
my $reset = (time + 1800) . '000';
my $slot  = RateLimit::Cluster->slot_of('{moved}');

my sub handler ($moves_to) {
    return sub ($words, $conn) {
        my $command = $words->[0];
        if ($command eq 'cluster') {
            return cluster_slots([0, $slot - 1, "127.0.0.1:$before"], [$slot, $slot, "127.0.0.1:$now", "127.0.0.1:$replica"], [$slot + 1, 16383, "127.0.0.1:$before"]);
        }
        my $asked = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        return $conn->hold('gate', error("MOVED $slot 127.0.0.1:$moves_to")) if $moves_to && $asked == $slot && $conn->state('held');
        return error("MOVED $slot 127.0.0.1:$moves_to") if $moves_to && $asked == $slot;
        return hmget(undef, undef) if $command eq 'hmget';
        return $command eq 'hincrby' ? integer(5) : array(map { integer($_) } @$words < 10 ? (1, $reset) : (1, 1, $reset));
    };
}
my %node = map { my ($port, $to) = @$_; ($port => RateLimit::FakeRedis->start(port => $port, handler => handler($to))) }
    [$before, $now], [$now, undef], [$replica, $before];
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster 127.0.0.1:$before; check_timeout 9s; connect_timeout 9s; charge_timeout 20s; fresh off; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location / { rate_limit 1000r/h; }
        location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
);
my $client = $nginx->http;
my sub writes ($port) { return sum0 map { scalar grep { "@$_" =~ /\{moved\}/ } $_->writes } $node{$port} }
wait_until { outcome($client->get('/?k={moved}')) eq '200 PASSED' && $node{$before}->commands('hmget') } what => 'the replica to be read';
$_->forget for values %node;
$node{$before}->set(held => 1);
my $checked = $nginx->begin('/?k={moved}');
wait_until { $node{$before}->commands('hmget') } what => 'the read to be sent on';
is outcome($client->get('/reserve?k={moved}')), '200 PASSED', 'a reservation is answered';
$node{$before}->release('gate');
is $checked->response->status, 200, 'so is the read';
wait_until { grep { "@$_" =~ /default/ } $node{$now}->writes } what => 'its charge';
$nginx->stop;
is writes($before), 0, 'the primary of before gets neither';

done;
