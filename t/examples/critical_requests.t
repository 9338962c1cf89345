# conf-examples/critical-requests.conf: critical requests succeed while the others fill their share of the fleet, and a client has
# so many requests at a time. Those without a key share the limits of their address.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my @nginx  = map {
    start_example('critical-requests', shards => $shards, app => $app,
        replace => {'~^POST:/charge  1000;' => '~^POST:/charge  10;', 'default         800;' => 'default         8;', 'rate_limit_concurrency 20' => 'rate_limit_concurrency 3'})
} 1 .. 2;

# Requests of one client fill the limit of a client.
my @of_mona = map { $_->reach($app, '/slow', 'X-API-Key' => 'mona') } @nginx, $nginx[0];
my $rejected = $nginx[1]->get('/', 'X-API-Key' => 'mona');
shows $rejected, 429, {resource => 'running', limit => 3, remaining => 0}, 'a client with three that run';
is $rejected->header('Retry-After'), 1;

# Requests of other clients fill the limit of the fleet.
my @others = map { $nginx[$_ % 2]->reach($app, '/slow', 'X-API-Key' => "client-$_") } 1 .. 5;
my $shed = $nginx[0]->get('/', 'X-API-Key' => 'hubot');
shows $shed, 503, {resource => 'fleet', limit => 8, remaining => 0}, 'the others have filled their share';
is $_->get('/charge/slow', 'X-API-Key' => 'hubot')->status, 503, 'to look at charges is not critical' for @nginx;
my @charges = map {
    my $before = $app->requests;
    my $http   = $nginx[$_ % 2]->http;
    $http->start_request('POST', '/charge/slow', ['X-API-Key' => "payer-$_"], 'x');
    wait_until { $app->requests > $before } what => 'a charge at the upstream';
    $http;
} 1 .. 2;
is $nginx[1]->post('/charge', 'x', 'X-API-Key' => 'payer-3')->status, 503, 'until the whole fleet is busy';

$app->release('gate');
is $_->response->status, 200, 'all that were let in are answered' for @of_mona, @others, @charges;
wait_until { $nginx[0]->get('/', 'X-API-Key' => 'hubot')->status == 200 } what => 'slots of the fleet';
my $passed = $nginx[0]->get('/', 'X-API-Key' => 'hubot');
like $passed->header('RateLimit-Policy'),
    qr/^"quota";q=5000;w=3600, "smooth";q=20;w=2, "running";q=3;qu="concurrent-requests", "fleet";q=8;qu="concurrent-requests"$/,
    'the policies of all';
is $passed->header('X-RateLimit-Resource'), 'smooth', 'the github headers show a limit that can be spent';

# Clients without a key are limited by their address.
my @anonymous = map { $nginx[$_ % 2]->reach($app, '/slow') } 0 .. 2;
shows $nginx[1]->get('/'), 429, {resource => 'running', limit => 3, remaining => 0}, 'an address without a key has as many at a time';
is $nginx[1]->get('/', 'X-API-Key' => 'mona')->status, 200, '... and clients with one have their own';
$app->release('gate');
is $_->response->status, 200, '... which end' for @anonymous;
my $of_address;
wait_until { ($of_address = $nginx[0]->get('/'))->status == 200 } what => 'a slot of the address';
like $of_address->header('RateLimit-Policy'), qr/^"quota";q=60;w=3600, "smooth";q=20;w=2, "running";q=3;/, '... a small quota, and the same bucket';
ok $shards->find("rl:$_:addr:127.0.0.1"), "... under its address: $_" for qw(quota/3600 smooth/1b);

done;
