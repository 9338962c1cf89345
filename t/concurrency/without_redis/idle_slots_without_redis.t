# While Redis is away a machine uses all slots that it holds, also those that fell idle, and not one more. When Redis is back, it holds what runs.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) {
        return [200, [], ''] if $request->{uri} !~ /(short|slow)/;
        return $conn->hold($1, [200, [], '']);
    });
my $nginx = RateLimit::Nginx->start(
    up => $backend, workers => 2, clock => 1, http => redis_block('main', $redis, 'check_timeout 1s; connect_timeout 1s;'),
    server => 'rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit_concurrency 1000 key=$arg_k store=main; proxy_pass http://%%UP%%; }');
sub held ($key) { return sum0(map { /^(\d+) / } values %{$redis->hash("rl:concurrency/n:$key")}) }

my $ahead = 0;
for my $way (qw(freeze kill)) {
    my @open  = map { $nginx->reach($backend, "/slow?k=$way") } 1 .. 30;
    # nginx's clock stands still from the next second on, so that no slot goes back for being idle too long.
    $nginx->travel(POSIX::strftime('%Y-%m-%d %H:%M:%S', localtime(time + $ahead + 1)));
    my @short = map { $nginx->reach($backend, "/short?k=$way") } 1 .. 20;
    my $held  = held($way);
    cmp_ok $held, '>=', 50, "$way: slots for all that run, $held";
    $redis->$way;
    $backend->release('short');
    is_deeply outcomes(map { $_->response } @short), {'200 PASSED' => 20}, 'some end when Redis is away';

    push @open, map { $nginx->reach($backend, "/slow?k=$way") } 1 .. $held - 30;
    is outcome($nginx->get("/x?k=$way")), '503 ERROR_DENIED', "so many run again, and no more" for 1 .. 3;
    is outcome($nginx->get("/x?k=new-$way")), '503 ERROR_DENIED', 'a new client has none';

    $way eq 'freeze' ? $redis->thaw : $redis->restart;
    $ahead += 3;
    $nginx->travel("+$ahead");
    wait_until { held($way) >= $held && outcome($nginx->get("/x?k=new-$way")) eq '200 PASSED' } what => 'Redis to know what runs';
    $nginx->wait_up_again;
    $backend->release('slow');
    is_deeply outcomes(map { $_->response } @open), {'200 PASSED' => $held}, 'all end';
    wait_until { !held($way) } what => 'all slots to go back';
}

done;
