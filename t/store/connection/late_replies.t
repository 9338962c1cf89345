# An answer that comes after its check has ended is dropped: it never reaches another request.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my $answer = hmget($words->[1] =~ /(\d+)$/, $reset);
    return $conn->state('slow') ? $conn->hold('gate', $answer) : $answer;
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, 'check_timeout 1200ms; connect_timeout 2s; charge_timeout 60s;')
        . redis_block('patient', $redis, timeouts('60s')),
    server => 'rate_limit_key $http_x_key; rate_limit_exempt_status 200; '
        . 'add_header X-Outcome $rate_limit_status; location / { rate_limit 5000r/h store=main; }'
        . 'location /patient { rate_limit 5000r/h store=patient; }',
);
my $client = $nginx->http;
for my $round (1 .. 3) {
    is limits($client->get('/x', 'X-Key' => 'k-1000'))->{used}, 1000, "round $round: in time";
    $redis->set(slow => 1);
    my @waiting = map { $nginx->begin('/x', 'X-Key' => "late-$round" . (2000 + $_)) } 0 .. 19;
    my @answers = map { $_->response } @waiting;
    is_deeply statuses(@answers), {200 => 20}, 'late answers: every request goes on';
    is_deeply [grep { $_->header('X-Outcome') ne 'ERROR_ALLOWED' } @answers], [], 'without an answer';
    is_deeply [grep { defined limits($_)->{used} } @answers], [], 'and shows nothing';
    $redis->set(slow => '');
    $redis->release('gate');
    wait_until { $client->get('/x', 'X-Key' => 'k-1')->header('X-Outcome') eq 'PASSED' }
        what => 'the node to be up again';
    my @keys  = (3001 .. 3100);
    my @later = $nginx->parallel(connections => 20, requests => [map { ['/x', 'X-Key' => "k-$_"] } @keys]);
    is_deeply [map { limits($_)->{used} } @later], \@keys, 'later requests get their own answers';
}

is limits($client->get('/patient', 'X-Key' => 'k-1'))->{used}, 1, 'a store that waits';
$redis->forget;
$redis->set(slow => 1);
my @gone = map { $nginx->begin('/patient', 'X-Key' => "gone-$_") } 0 .. 9;
wait_until { $redis->commands('hmget') == @gone } what => 'checks of clients that will not wait';
$_->abort for @gone;
$nginx->wait_log(qr/(?:prematurely closed.*?){10}/s);
my @staying = map { $nginx->begin('/patient', 'X-Key' => "stays-" . (4001 + $_)) } 0 .. 9;
wait_until { $redis->commands('hmget') == 20 } what => 'checks of others';
$redis->release('gate');
is_deeply [map { limits($_->response)->{used} } @staying], [4001 .. 4010],
    'answers to the gone go to nobody else';
is $redis->connections, 2, 'a check that timed out does not close the connection';

done;
