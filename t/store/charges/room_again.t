# Charges for which the zone had no room wait in the worker, and move into the zone once it has some: a reload, or a worker that is killed, loses none
# of them.

use RateLimit::Test;
use JSON::PP;

my ($clients, $windows) = (2000, 200);

# Two stores whose servers are away; the zone has room for 644 windows that wait.
my sub start (@servers) {
    my $limit = 'rate_limit 1000r/h; rate_limit_on_error allow;';
    return RateLimit::Nginx->start(
        http => 'rate_limit_zone 1m; keepalive_requests 1000000; rate_limit_key $arg_k; '
            . join('', map { redis_block("s$_", $servers[$_]) } 0 .. 1),
        server => join(' ', map { "location /s$_ { $limit rate_limit_store s$_; }" } 0 .. 1)
            . ' location /limits/ { rate_limit off; rate_limit_console view; }',
    );
}
my sub waiting ($nginx) {
    return decode_json($nginx->get('/limits/json')->body)->{stores}[1]{shards}[0]{waiting}{windows};
}
my sub come ($http, $uri, $count) {
    my @all = map { ['GET', "$uri?k=$_"] } 1 .. $count;
    my $passed = 0;
    while (my @some = splice @all, 0, 100) {
        $passed += grep { $_->status == 200 } $http->pipeline(@some);
    }
    return $passed;
}
my %ends = (
    'a reload'                => sub ($nginx) { $nginx->reload },
    'a worker that is killed' => sub ($nginx) { $nginx->kill_worker },
);
for my $end (sort keys %ends) {
    my @servers = map { RateLimit::Redis->start } 0 .. 1;
    my $nginx   = start(@servers);
    my $http    = $nginx->http;
    $_->kill for @servers;
    is come($http, '/s0', $clients), $clients, 'charges fill the zone';
    is come($http, '/s1', $windows), $windows, 'others come';
    cmp_ok waiting($nginx), '<', $windows, 'and find no room';
    $servers[0]->restart;
    wait_until { waiting($nginx) == $windows } what => 'all of them to be in the zone';
    $ends{$end}->($nginx);
    $servers[1]->restart;
    wait_until { sum0($servers[1]->used_of('default/3600', 1 .. $windows)) == $windows } what => "all of them to be charged after $end";
    is sum0($servers[0]->used_of('default/3600', 1 .. $clients)), $clients, 'none was lost';
}

done;
