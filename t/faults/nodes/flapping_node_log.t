# A node that serves and refuses in turn is reported at most once a second, going and coming.

use RateLimit::Test;

my $reads = 0;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return integer(2) if $words->[0] eq 'hincrby';
    return fallback($words) if $words->[0] ne 'hmget';
    return $reads++ % 2 ? error('LOADING Redis is loading') : hmget(1, (time + 1800) . '000');
});
my $nginx = RateLimit::Nginx->with_limit('100000000r/h', redis_block('main', $redis, 'fresh off; check_timeout 2s; connect_timeout 2s;'),
    key => 'k', more => 'keepalive_requests 1000000;');
my $client = $nginx->http;
my $begun  = monotonic();
my ($requests, $passed) = (0, 0);
while (monotonic() - $begun < 2 || $redis->commands('ping') <= 10 && monotonic() - $begun < patience(15)) {
    $requests++;
    $passed++ if $client->get('/x')->status == 200;
}
is $passed, $requests, 'requests pass';
my $most = 2 + int(monotonic() - $begun);
cmp_ok scalar(() = $redis->commands('ping')), '>', 10, 'the node comes and goes';
cmp_ok $nginx->count_log(qr/does not serve: loading/), '<=', $most, 'a line a second says that it goes';
cmp_ok $nginx->count_log(qr/is up again/), '<=', $most, 'and one that it is back';
$nginx->stop;

done;
