# Looking up and resetting in a cluster: each key at the node that serves its slot, also after the slot has moved.

use RateLimit::Test;
use JSON::PP;

my $cluster = RateLimit::Cluster->start(primaries => 2, replicas => 1, node_timeout => 5000);
my $nginx   = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => $cluster->block('main') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h name=core store=main mode=charge_refund; }',
);
my sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }
my sub used ($key) {
    my $response = post("key=$key&limit=core");
    return $response->status == 200 ? decode_json($response->body)->{windows}[0]{used} : undef;
}
my sub get ($key) { return $nginx->get('/x', 'X-Key' => $key)->status }

wait_until { get('first') == 200 } what => 'the map to be known';
my @keys = map { "key$_" } 1 .. 12;
for my $key (@keys) { get($key) for 1 .. 6 }
is_deeply {map { $_ => used($_) } @keys}, {map { $_ => 5 } @keys}, 'all are found at their nodes';
for my $key (@keys) { is post("do=reset&key=$key&limit=core")->status, 200, "reset of $key" }
is_deeply {map { $_ => used($_) } @keys}, {map { $_ => 0 } @keys}, 'all are reset';
is_deeply {map { $_ => get($_) } @keys}, {map { $_ => 200 } @keys}, '... and admitted';
my $slot  = $cluster->slot_of("rl:core/3600:$keys[0]");
my $owner = $cluster->node_of($slot);
my ($other) = grep { $_->address ne $owner->address } $cluster->primaries;
$cluster->migrate_slots($owner, $other, $slot);
is post("do=reset&key=$keys[0]&limit=core")->status, 200, 'a reset where the slot has moved';
is used($keys[0]), 0, '... is done by the new owner';
is $cluster->used($keys[0], 'core/3600'), 0, '... in Redis';

done;
