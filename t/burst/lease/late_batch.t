# A worker's batch comes late; meanwhile another worker has fetched younger tokens. What a request of the first worker got, and does not spend,
# stays as old as it is: in any time no more pass than burst and rate.

use RateLimit::Test;

my ($rate, $burst) = (100, 2000);
my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $conn->state('slow') && $words->[0] =~ /^eval/ ? $conn->hold('gate', $answer) : $answer;
}));
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $relay, timeouts('9s')) . 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;
        add_header X-Worker $pid always;',
    server => "location / { rate_limit ${rate}r/s burst=$burst cost=\$arg_c; }");
my %of;
wait_until {
    my $client = $nginx->http;
    $of{$client->get('/x?k=warm&c=1')->header('X-Worker')} //= $client;
    keys %of == 2
} what => 'a connection to each worker', timeout => 20;
my ($late, $early) = values %of;
my $tag = $late->get('/x?k=tag&c=1')->header('ETag');

my @passed;    # [when it was sent, when it was answered, cost]
my sub ask ($cost) {
    my $sent   = monotonic();
    my $status = $early->get("/x?k=k&c=$cost")->status;
    push @passed, [$sent, monotonic(), $cost] if $status == 200;
    return $status;
}
my sub spend_all () {
    for my $cost (500, 100, 20, 5) { 1 while ask($cost) == 200 }
}
$relay->set(slow => 1);
$late->start_request(GET => '/x?k=k&c=1900', ['If-None-Match' => $tag]);
wait_until { grep { $_->[0] =~ /^eval/ && $_->[3] =~ /:k$/ } $relay->commands } what => 'the late batch to be asked for';
$relay->set(slow => '');
let_pass(4);
is ask(1), 200, 'the other worker has a batch';
$relay->release('gate');
is $late->response->status, 304, 'what comes late is not spent';
spend_all();
let_pass(1.3);
spend_all();

my $most = -9**9;
for my $i (0 .. $#passed) {
    my $sum = 0;
    for my $j ($i .. $#passed) {
        $sum += $passed[$j][2];
        my $over = $sum - $burst - $rate * ($passed[$j][1] - $passed[$i][0]);
        $most = $over if $over > $most;
    }
}
cmp_ok $most, '<', 1e-6, 'never more than burst and rate';
diag sprintf '%.1f above burst and rate', $most;

done;
