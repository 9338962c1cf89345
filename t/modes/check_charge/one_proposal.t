# The requests of one new window agree on its reset, over workers and over seconds, and the stored one is the same. A
# proposal lives no longer than requests that may yet be charged.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $conn->hold('gate', [200, [], 'held']) if $request->{uri} eq '/held';
    return $conn->hold('gate', [304, []]) if $request->{uri} eq '/same';
    return $request->{uri} eq '/free' ? [304, []] : [200, [], 'now'];
});
my $nginx = RateLimit::Nginx->with_limit('50r/h', redis_block('main', $redis), clock => 1, workers => 4, reuseport => 1,
    more => 'add_header X-Worker $pid always; proxy_pass http://' . $backend->address . ';');
sub reset_of ($key) {
    my $reset = $redis->stored($key)->{reset} // return;
    return ceil($reset / 1000);
}
sub start_requests ($count, $uri, $key) { return map { $nginx->reach($backend, $uri, 'X-Key' => $key) } 1 .. $count }

my @clients = start_requests(6, '/held', 'a');
push @clients, start_requests(2, '/same', 'a');
$nginx->travel('+2');
push @clients, start_requests(6, '/held', 'a');
$backend->release('gate');
my @responses = map { $_->response } @clients;
is_deeply statuses(@responses), {200 => 12, 304 => 2}, 'slow requests of a new window';
cmp_ok scalar workers_of(@responses), '>', 1, 'in several workers';
my %resets = map { limits($_)->{reset} => 1 } @responses;
is scalar keys %resets, 1, 'show one reset';
is_deeply [sort { $a <=> $b } map { limits($_)->{used} } @responses[0 .. 5, 8 .. 13]], [1 .. 6, 9 .. 14],
    'each with those before it in flight';
wait_until { $redis->used('a') == 12 } what => 'the charges';
is_deeply [keys %resets], [reset_of('a')], 'which is stored';
is limits($nginx->get('/x', 'X-Key' => 'a'))->{reset}, reset_of('a'), 'and stays';

for my $uri (qw(/free /same)) {
    $nginx->travel('+10');
    my ($client) = start_requests(1, $uri, $uri);
    $backend->release('gate');
    my $exempt = $client->response;
    shows $exempt, 304, {used => 0}, "$uri: an exempt request uses nothing";
    $nginx->travel('+20');
    # On the same connection: the exempt request has ended before nginx reads it.
    my $first = limits($client->get('/x', 'X-Key' => $uri));
    cmp_ok $first->{reset}, '>=', limits($exempt)->{reset} + 10, 'the first charged one has a full period';
    wait_until { reset_of($uri) } what => 'its charge';
    is reset_of($uri), $first->{reset}, 'as it said';
}

# Exempt requests that overlap, and a charged one among them that outlives them.
$nginx->travel('+30');
my ($exempt) = start_requests(1, '/same', 'b');
my ($charged) = start_requests(1, '/held', 'b');
$nginx->travel('+40');
$backend->release('gate');
my ($shown, $kept) = map { limits($_->response)->{reset} } $exempt, $charged;
is $kept, $shown, 'an exempt request and a charged one share a proposal';
wait_until { reset_of('b') } what => 'the charge';
is reset_of('b'), $kept, 'which is the one that is stored';

done;
