#!/usr/bin/env perl

# Costs: constant, from variables and maps, from an upstream's header; empty is 1, 0 is free and opens
# nothing, invalid ones are logged and count as 1; check_charge admits while anything is left, so a cost may
# overshoot.

use lib 't/lib';
use RateLimit::Test;

my $patient = 'check_timeout 5s; connect_timeout 5s;';    # for a busy machine
my $shards  = RateLimit::Shards->start(1);
my $redis   = $shards->primary(0);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, ['X-Accel-Redirect' => '/x', 'X-Cost' => 6]] if $request->{uri} =~ /accel/;
    my @cost = $request->{uri} =~ /cost=(.*)/ ? ('X-Cost' => $1) : ();
    return [$request->{uri} =~ /broken/ ? 500 : 200, \@cost, 'ok'];
});
my $nginx = RateLimit::Nginx->start(
    http => $shards->block('main', $patient) . '
        map $request_method $by_method { POST 10; HEAD 0; default ""; }
        map $upstream_status $by_status { 500 0; default 2; }
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit 10r/h;',
    server => sprintf '
        location / { rate_limit_cost $http_x_cost; add_header X-Variable $rate_limit_used; }
        location /constant/ { alias %%%%DIR%%%%/html/; rate_limit_cost 4; }
        location /free/ { alias %%%%DIR%%%%/html/; rate_limit_cost 0; }
        location /map { alias %%%%DIR%%%%/html/x; rate_limit_cost $by_method; }
        location /upstream { rate_limit_cost $upstream_http_x_cost; proxy_pass http://%1$s; }
        location /status { rate_limit_cost $by_status; proxy_pass http://%1$s; }
        location /two/ { alias %%%%DIR%%%%/html/; rate_limit_cost 3; rate_limit 10r/h name=a cost=2;
            rate_limit 9r/h name=b; }',
    $backend->address,
);

sub used ($response) { return limits($response)->{used} }
sub ask ($cost, $key = 'k') {
    return $nginx->get('/x', 'X-Key' => $key, defined $cost ? ('X-Cost' => $cost) : ());
}

is used(ask(3)), 3, 'a cost';
is ask(2)->header('X-Variable'), 5, 'in variables too';
is used(ask(undef)), 6, 'empty is 1';
is used(ask(0)), 6, '0 is free';
is limits(ask(0, 'new'))->{remaining}, 10, 'and shows what is there';
my $over = ask(7);
is_deeply [$over->status, @{limits($over)}{qw(used remaining)}], [200, 13, 0], 'a cost may pass the limit';
is ask(0)->status, 429, 'then nothing is admitted';

my @invalid = ('-1', '1.5', '1e3', 'x', '1000000001', '99999999999999999999', '0x5', '+1', '1 1');
is used(ask($_, "invalid$_")), 1, "\"$_\" is invalid and counts as 1" for @invalid;
ok $nginx->count_log(qr/invalid cost "-1" of rate limit "default" in .*:\d+ counts as 1/), 'it is logged';
is used(ask('1000000000', 'most')), 1_000_000_000, 'the most';
is used(ask('007', 'zeros')), 7, 'leading zeros';

is_deeply [map { used($nginx->get('/constant/x', 'X-Key' => 'constant')) } 1 .. 3], [4, 8, 12], 'a constant';
is $nginx->get('/constant/x', 'X-Key' => 'constant')->status, 429, 'reaches the limit';
is used($nginx->get('/free/x', 'X-Key' => 'free')), 0, 'a constant 0';
is used($nginx->get('/map', 'X-Key' => 'map')), 1, 'a map';
is used($nginx->head('/map', 'X-Key' => 'map')), 1, 'HEAD is free';
is used($nginx->post('/map', '', 'X-Key' => 'map')), 11, 'POST is not';

is used($nginx->get('/upstream?cost=5', 'X-Key' => 'up')), 5, 'the upstream says';
is used($nginx->get('/upstream', 'X-Key' => 'up')), 6, 'it says nothing';
is used($nginx->get('/upstream?cost=0', 'X-Key' => 'up')), 6, 'it says 0';
is used($nginx->get('/upstream/broken?cost=3', 'X-Key' => 'up')), 9, 'it fails';
is used($nginx->get('/status', 'X-Key' => 'status')), 2, 'a map of what the upstream answered';
is used($nginx->get('/status/broken', 'X-Key' => 'status')), 2, 'is evaluated when it has';
is used($nginx->get('/upstream/accel', 'X-Key' => 'up')), 15, 'it redirects';
my $two = limits($nginx->get('/two/x', 'X-Key' => 'two'));
is_deeply [@$two{qw(used resource)}], [3, 'b'], 'cost= of a line, rate_limit_cost for another';

$nginx->stop;
is_deeply [grep { /:(?:free|new)$/ } $redis->keys], [], 'what is free opens no window';
my %used = map { $_ => $redis->hash("rl:default/3600:$_")->{used} } qw(k most constant map up), "invalid-1";
is_deeply \%used, {k => 13, most => 1_000_000_000, constant => 12, map => 11, up => 15, 'invalid-1' => 1},
    'charges';
is_deeply [map { $redis->hash("rl:$_/3600:two")->{used} } qw(a b)], [2, 3], 'of two limits';

done;
