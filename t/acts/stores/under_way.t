# Charges that wait here for their primary are not sent any more when their window is reset; running requests are charged after the reset. Nothing is
# given back twice: the used amount is never below 0, and never above what has been admitted since the reset or was running then.

use RateLimit::Test;
use JSON::PP;

my $reset  = (time + 3000) . '000';
my $fake   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return hmget(2, $reset) if $command eq 'hmget';
    return fallback($words) if $command !~ /^(?:eval|hincrby)/;
    return array(integer(0), integer($reset)) if ($words->[6] // '') eq 'keep';
    return error('OOM command not allowed') if $conn->state('full');
    return $command eq 'hincrby' ? integer(1) : array(integer(1), integer($reset));
});
my $shards  = RateLimit::Shards->start(1);
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('fake', $fake) . $shards->block('main') . 'rate_limit_key $http_x_key;', up => $backend,
    server => 'location /limits/ { rate_limit_console manage; } location /fake { rate_limit 9r/h name=fake store=fake; }
        location /check { rate_limit 5r/h name=check store=main; proxy_pass http://%%UP%%; }
        location /refund { rate_limit 5r/h name=refund store=main mode=charge_refund; rate_limit_exempt_status 200; proxy_pass http://%%UP%%; }
        location /mine { rate_limit 5r/h name=mine; proxy_pass http://%%UP%%; }',
);
my sub post ($body) { return decode_json($nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded')->body) }
my sub window ($limit) { return post("key=a&limit=$limit")->{windows}[0] }
my sub charges () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{writes}{charge} }

$fake->set(full => 1);
$nginx->get('/fake', 'X-Key' => 'a') for 1 .. 3;
wait_until { (window('fake')->{waiting} // 0) == 3 } what => 'charges to wait';
my $shown = post('do=reset&key=a&limit=fake')->{windows}[0];
is_deeply [@$shown{qw(waiting used)}], [0, 0], 'and no longer when all is';
is_deeply [@{charges()}{qw(expired dropped)}], [3, 0], '... which is told, and no loss';
$fake->set(full => '');
$nginx->get('/fake', 'X-Key' => 'b');
wait_until { charges()->{stored} >= 1 } what => 'another charge to be taken';
is charges()->{stored}, 1, '... and nothing of before';

for my $limit (qw(check mine)) {
    my $client = $nginx->reach($backend, "/$limit/slow", 'X-Key' => 'a');
    is $nginx->get("/$limit/x", 'X-Key' => 'a')->status, 200, "$limit: one more";
    wait_until { (window($limit)->{used} // 0) == 1 } what => 'its charge';
    is window($limit)->{in_flight}, 1, '... and one runs';
    is post("do=reset&key=a&limit=$limit")->{windows}[0]{in_flight}, 1, 'it runs on after a reset';
    $backend->release('gate');
    is $client->response->status, 200, '... to its end';
    wait_until { window($limit)->{used} == 1 } what => 'its charge';
    is window($limit)->{in_flight}, 0, '... and counts once';
}
my $client = $nginx->reach($backend, '/refund/slow', 'X-Key' => 'a');
is window('refund')->{used}, 1, 'a request has reserved its cost';
is post('do=reset&key=a&limit=refund')->{windows}[0]{used}, 0, 'a reset gives it back';
$backend->release('gate');
is $client->response->status, 200, 'the request is exempt, and gives back what it has';
is((window('refund') // {used => 0})->{used}, 0, '... but no more than there is') for 1 .. 3;

done;
