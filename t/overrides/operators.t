# Two operators who set overrides at the same time on two machines both find theirs, and all the others', on both machines.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my @start = (
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared; check_timeout 5s;') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage keys=plain; } location / { rate_limit 5r/h store=main; }',
);
my @machines = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my @form     = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub keys_of ($nginx) { return [sort map { $_->{key} } @{decode_json($nginx->get('/limits/json')->body)->{overrides}}] }

my @expected;
for my $round (1 .. 30) {
    my @acts = map { my $nginx = $machines[$_]; [$nginx->http, "m$_-$round"] } 0, 1;
    $_->[0]->start_request('POST', '/limits/key', \@form, "do=ban&limit=default&key=$_->[1]") for @acts;
    is_deeply [map { $_->[0]->response->status } @acts], [200, 200], "both in round $round";
    push @expected, map { $_->[1] } @acts;
}
@expected = sort @expected;
for my $nginx (@machines) {
    eval { wait_until { "@{keys_of($nginx)}" eq "@expected" } what => 'all of them' };
}
is_deeply keys_of($machines[0]), \@expected, 'none is lost';
is_deeply keys_of($machines[1]), \@expected, '... on any machine';
done;
