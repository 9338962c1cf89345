# Beside a batch an eighth of it is asked for, also of a key that nobody has asked for yet; of one whose batches have become small, an eighth of a
# first batch.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $conn->state('slow') && $words->[0] =~ /^eval/ ? $conn->hold('gate', $answer) : $answer;
}));
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $relay, timeouts('9s')),
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; location / { rate_limit 1000r/s burst=20000 mode=lease; }
        location /who { rate_limit off; } location /limits/ { rate_limit off; rate_limit_console view; }',
);
my @clients = map { $nginx->http } 1 .. 100;
my sub wanted ($key) { return map { $_->[6] } grep { $_->[0] =~ /^eval/ && $_->[3] =~ /:$key$/ } $relay->commands }
# Tokens live for a second, and where they came too late others are asked for: undef then, and another key is tried.
my sub at_once ($key) {
    my $begun = monotonic();
    $relay->set(slow => 1);
    $_->start_request(GET => "/?k=$key") for @clients;
    wait_until { $nginx->get('/who'); sum0(wanted($key)) >= @clients } what => "$key: all to have asked";
    $relay->set(slow => '');
    $relay->release('gate');
    my $statuses = statuses(map { $_->response } @clients);
    return if monotonic() - $begun > 0.8;
    is_deeply $statuses, {200 => 100}, "$key: all pass";
    return [wanted($key)];
}
my $tries = 0;
my @until = (timeout => 60, what => 'a hundred requests in time');
$nginx->get('/?k=other');
is_deeply +(wait_until { at_once('new' . ++$tries) } @until), [63, (8) x 5], 'a batch, and eighths of it';

my sub cold ($key) {
    $nginx->get("/?k=$key");
    wait_until {
        my $told = decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases};
        $told->{spent} + $told->{returned} + $told->{lost} == $told->{fetched}
    } what => 'its batch to die';
    $relay->forget;
    return at_once($key);
}
my $batches = wait_until { cold('cold' . ++$tries) } @until;
my ($first, @beside) = @$batches;
cmp_ok $first, '<', 8, 'a small batch';
is_deeply [grep { $_ != 8 } @beside], [], '... and eighths of what batches begin with';

done;
