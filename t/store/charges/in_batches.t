# Charges of many windows that waited are delivered completely, one first, then at most 200 at a time.

use RateLimit::Test;

my ($windows, $each, $batch) = (5000, 50, 200);
my $replica = RateLimit::Redis->start;
my $redis   = RateLimit::Redis->start;
my $reset   = (time + 1800) . '000';
my $probed  = 0;
my $fake    = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'evalsha';
    return array(integer(1), integer(1), integer($reset)) if "@$words" =~ /:marker/;
    my $answer = array(integer(1), integer($reset));
    return $conn->state('free') || !$probed++ ? $answer : $conn->hold('gate', $answer);
});
sub start ($primary) {
    return RateLimit::Nginx->start(
        http => redis_block('main', [$primary, $replica], timeouts('30s')),
        server => 'rate_limit_key $arg_k; rate_limit_store main; location / {'
            . join('', map { "rate_limit 99r/h name=n$_;" } 1 .. $each)
            . '} location /one { rate_limit 99r/h name=one; } location /at-once { rate_limit 99r/h name=reserved mode=charge_refund; }',
    );
}
# Each window is charged twice while the primary is away.
sub outage ($nginx) {
    $nginx->get('/one?k=first');
    $nginx->wait_log(qr/primary .* is down/);
    my @requests = map { ["/x?k=$_"] } (1 .. $windows / $each) x 2;
    my $statuses = statuses($nginx->parallel(connections => 2, requests => \@requests));
    return is_deeply $statuses, {200 => scalar @requests}, 'requests pass while the primary is away';
}

$redis->kill;
my $nginx = start($redis);
outage($nginx);
$redis->restart;
wait_until { $redis->cmd('DBSIZE') == $windows + 1 } what => 'all windows';
$nginx->stop;
my @keys = grep { !/first/ } $redis->keys;
my %used;
$used{$_ // ''}++ for $redis->pipeline(map { ['HGET', $_, 'used'] } @keys);
is_deeply \%used, {2 => $windows}, 'each is charged in full, once';
my ($after) = $nginx->error_log =~ /is up again\n(.*)/s;
unlike $after, qr/rate limit: /, 'and the primary stays up';

$fake->stop;
$nginx = start($fake);
outage($nginx);
$fake->restart;
wait_until { $fake->commands('evalsha') >= $batch + 1 } what => 'the probe and the first batch';
# Whatever was sent before this reservation arrives before it.
my $client = $nginx->begin('/at-once?k=marker');
wait_until { grep { "@$_" =~ /:marker/ } $fake->commands('evalsha') } what => 'a reservation, which waits for no batch';
is scalar(() = $fake->commands('evalsha')), $batch + 2, 'the first batch is answered before the next is sent';
$fake->set(free => 1);
$fake->release('gate');
is $client->response->status, 200, 'the reservation';
wait_until { $fake->commands('evalsha') == $windows + 2 } what => 'the other batches';
my %seen = map { $_->[3] => 1 } $fake->commands('evalsha');
is keys %seen, $windows + 2, 'each window once';
$nginx->stop;
is $nginx->count_log(qr/does not serve|doubt|dropped|lost/), 0, 'and nothing is lost';

done;
