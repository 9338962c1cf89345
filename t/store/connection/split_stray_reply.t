# A stray reply that arrives in two pieces never becomes the answer to another command.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $stray = hmget(99, $reset);
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my $cut = $conn->state('cut') or return hmget(2, $reset);
    return hmget(1, $reset) . substr $stray, 0, $cut if $words->[1] =~ /:first$/;
    return substr($stray, $cut) . hmget(2, $reset);
});
my $nginx = RateLimit::Nginx->with_limit('50r/h cost=0', redis_block('main', $redis),
    more => 'add_header X-Outcome $rate_limit_status always;');
my $client = $nginx->http;
sub answer ($key) {
    my $response = $client->get('/x', 'X-Key' => $key);
    return join ' ', outcome($response), limits($response)->{used} // 'unknown';
}
sub healthy () {
    $redis->set(cut => 0);
    return wait_until { answer('k') eq '200 PASSED 2' } what => 'the node to be up again';
}

healthy();
for my $cut (1, 3, 20, length($stray) - 1) {
    $redis->set(cut => $cut);
    is answer('first'), '200 PASSED 1', "a stray reply's first $cut bytes come with an answer";
    is answer('victim'), '200 ERROR_ALLOWED unknown', 'the next command is not sent after it';
    healthy();
}
is $nginx->count_log(qr/exited/), 0, 'no worker died';

done;
