# Many requests of one client come at once, while Redis does not answer, to one machine and to several: what does not fit goes back, and no more than
# that, so that no more than the burst pass. Nor does a limit whose burst is smaller take what it rejects.

use RateLimit::Test;

my $redis    = RateLimit::Redis->start;
my @machines = map {
    RateLimit::Nginx->start(
        http   => redis_block('main', $redis, timeouts('9s')) . 'rate_limit_key $http_x_key; rate_limit_store main; keepalive_requests 100000;',
        server => 'location / { rate_limit 1r/m burst=20; } location /small { alias %%DIR%%/html/x; rate_limit 1r/m burst=10 name=n; }
            location /large { alias %%DIR%%/html/x; rate_limit 1r/m burst=100 name=n cost=30; }')
} 1 .. 3;
my @open = map { my $nginx = $_; [map { $nginx->http } 1 .. 150] } @machines;

# Each machine knows the bucket, and the time of Redis.
sub get_to_know ($uri, $key) { $_->get($uri, 'X-Key' => $key) for @machines; return $_->get('/x', 'X-Key' => "time of $key") for @machines }

sub wave ($uri, $key, @connections) {
    $redis->freeze;
    $_->start_request('GET', $uri, ['X-Key' => $key]) for @connections;
    let_pass(0.05);
    $redis->thaw;
    return statuses(map { $_->response } @connections);
}

for my $round (1 .. 3) {
    get_to_know('/x', "one$round");
    my $passed = wave('/x', "one$round", @{$open[0]})->{200} // 0;
    is $passed, 17, "all that is left, and no more, on one machine";
    is wave('/x', "one$round", @{$open[0]})->{200} // 0, 0, '... once';
    get_to_know('/x', "all$round");
    is wave('/x', "all$round", map { @$_ } @open)->{200}, 17, 'on three';
    is wave('/x', "all$round", map { @$_ } @open)->{200} // 0, 0, '... once';
}
cmp_ok $redis->calls('bitfield'), '>=', 17, 'plain commands took it';

get_to_know('/small', 'shared');
is $machines[1]->get('/large', 'X-Key' => 'shared')->status, 200, 'a limit of a larger burst takes more than the smaller one has';
my ($before) = $redis->bucket('rl:n/60b:shared');
is_deeply wave('/small', 'shared', @{$open[0]}), {429 => 150}, 'the smaller one rejects';
wait_until { my ($missing) = $redis->bucket('rl:n/60b:shared'); $missing <= $before } what => 'what it took to be back';
pass '... and takes nothing';

done;
