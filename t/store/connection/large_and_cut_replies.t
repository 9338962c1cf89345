# Replies over 16 KiB, hundreds of them at once, and replies cut at any byte reach the requests
# that asked.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words;
    return $command eq 'hincrby' ? integer(9) : fallback($words) if $command ne 'hmget';
    my ($kind, $number) = $key =~ /:(\w+)-(\d+)$/;
    my $answer = hmget($number, $reset);
    return $conn->hold('gate', $answer) if $kind eq 'many';
    return bulk('x' x $number)  if $kind eq 'long';
    return error('ERR ' . 'x' x $number) if $kind eq 'error';
    return array(map { bulk($_) } 1 .. $number) if $kind eq 'list';
    my $end = substr $answer, $number, length $answer, '';
    $conn->send($answer);
    return $conn->later(0.003, $end);
});
my $nginx = RateLimit::Nginx->with_limit('100000r/h', redis_block('main', $fake, timeouts('60s') . ' fresh off;'),
    more => 'add_header X-Outcome $rate_limit_status;');

my $client = $nginx->http;
my $length = length hmget(10, $reset);
my @used   = map { limits($client->get('/x', 'X-Key' => "cut-$_"))->{used} } 10 .. $length - 1;
is_deeply \@used, [map { $_ + 1 } 10 .. $length - 1], 'replies cut at each byte from the tenth';

my @clients = map { $nginx->begin('/x', 'X-Key' => 'many-' . (1000 + $_)) } 0 .. 599;
wait_until { grep({ $_->[1] =~ /:many-/ } $fake->commands('hmget')) == @clients } what => 'all checks';
cmp_ok @clients * $length, '>', 16_384, 'more than one read takes';
$fake->release('gate');
my @wrong = grep { limits($clients[$_]->response)->{used} != 1001 + $_ } 0 .. $#clients;
is_deeply \@wrong, [], 'hundreds of replies at once: each to its own request';

my $after = 0;
for my $odd (qw(long-100000 error-100000 list-30000 long-16384)) {
    my $response = $client->get('/x', 'X-Key' => $odd);
    is $response->status, 200, "$odd is no window";
    is $response->header('X-Outcome'), 'ERROR_ALLOWED', 'and rate_limit_on_error decides';
    is limits($client->get('/x', 'X-Key' => 'after' . ++$after . '-20'))->{used}, 21, 'the connection goes on';
}
is $fake->connections, 1, 'all on one connection';

done;
