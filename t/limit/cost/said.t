# Costs: constant, from variables and maps, from an upstream's header; empty is 1, 0 is free and opens
# nothing, invalid ones are logged and count as 1; check_charge admits while anything is left, so a cost may
# overshoot.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, ['X-Accel-Redirect' => '/x', 'X-Cost' => 6]] if $request->{uri} =~ /accel/;
    return RateLimit::Backend::as_asked($request, $conn);
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        map $request_method $by_method { POST 10; HEAD 0; default ""; }
        map $upstream_status $by_status { 500 0; default 2; }
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit 10r/h;',
    up => $backend, server => 'location / { rate_limit_cost $http_x_cost; add_header X-Variable $rate_limit_used; }
        location /constant/ { alias %%DIR%%/html/; rate_limit_cost 4; }
        location /free/ { alias %%DIR%%/html/; rate_limit_cost 0; }
        location /map { alias %%DIR%%/html/x; rate_limit_cost $by_method; }
        location /upstream { rate_limit_cost $upstream_http_x_cost; proxy_pass http://%%UP%%; }
        location /status { rate_limit_cost $by_status; proxy_pass http://%%UP%%; }
        location /two/ { alias %%DIR%%/html/; rate_limit_cost 3; rate_limit 10r/h name=a cost=2;
            rate_limit 9r/h name=b; }',
);

sub ask ($cost, $key = 'k') { return $nginx->get('/x', 'X-Key' => $key, defined $cost ? ('X-Cost' => $cost) : ()) }

is limits(ask(3))->{used}, 3, 'a cost';
is ask(2)->header('X-Variable'), 5, 'in variables too';
is limits(ask(undef))->{used}, 6, 'empty is 1';
is limits(ask(0))->{used}, 6, '0 is free';
is limits(ask(0, 'new'))->{remaining}, 10, 'and shows what is there';
shows ask(7), 200, {used => 13, remaining => 0}, 'a cost may pass the limit';
is ask(0)->status, 429, 'then nothing is admitted';

my @invalid = ('-1', '1.5', '1e3', 'x', '1000000000001', '99999999999999999999', '0x5', '2*3', '0*0', '+1', '1 1');
is limits(ask($_, "invalid$_"))->{used}, 1, "\"$_\" is invalid and counts as 1" for @invalid;
ok $nginx->count_log(qr/invalid cost "-1" of rate limit "default" in .*:\d+ counts as 1/), 'it is logged';
is limits(ask('1000000000000', 'most'))->{used}, 1_000_000_000_000, 'the most';
is limits(ask('007', 'zeros'))->{used}, 7, 'leading zeros';

is_deeply [map { limits($nginx->get('/constant/x', 'X-Key' => 'constant'))->{used} } 1 .. 3], [4, 8, 12], 'a constant';
is $nginx->get('/constant/x', 'X-Key' => 'constant')->status, 429, 'reaches the limit';
is limits($nginx->get('/free/x', 'X-Key' => 'free'))->{used}, 0, 'a constant 0';
is limits($nginx->get('/map', 'X-Key' => 'map'))->{used}, 1, 'a map';
is limits($nginx->head('/map', 'X-Key' => 'map'))->{used}, 1, 'HEAD is free';
is limits($nginx->post('/map', '', 'X-Key' => 'map'))->{used}, 11, 'POST is not';

is limits($nginx->get('/upstream?cost=5', 'X-Key' => 'up'))->{used}, 5, 'the upstream says';
is limits($nginx->get('/upstream', 'X-Key' => 'up'))->{used}, 6, 'it says nothing';
is limits($nginx->get('/upstream?cost=0', 'X-Key' => 'up'))->{used}, 6, 'it says 0';
is limits($nginx->get('/upstream/500?cost=3', 'X-Key' => 'up'))->{used}, 9, 'it fails';
is limits($nginx->get('/status', 'X-Key' => 'status'))->{used}, 2, 'a map of what the upstream answered';
is limits($nginx->get('/status/500', 'X-Key' => 'status'))->{used}, 2, 'is evaluated when it has';
is limits($nginx->get('/upstream/accel', 'X-Key' => 'up'))->{used}, 15, 'it redirects';
my $two = limits($nginx->get('/two/x', 'X-Key' => 'two'));
is_deeply [@$two{qw(used resource)}], [3, 'b'], 'cost= of a line, rate_limit_cost for another';

$nginx->stop;
is_deeply [grep { /:(?:free|new)$/ } $redis->keys], [], 'what is free opens no window';
my %used = map { $_ => $redis->used($_) } qw(k most constant map up), "invalid-1";
is_deeply \%used, {k => 13, most => 1_000_000_000_000, constant => 12, map => 11, up => 15, 'invalid-1' => 1}, 'charges';
is_deeply [map { $redis->used('two', "$_/3600") } qw(a b)], [2, 3], 'of two limits';

done;
