# Charges of shards that a reload has renamed stay in the zone, where nobody sends them, and those of the same keys under the new names find no
# place beside them. They keep no other store's charges from moving into a zone that has room.

use RateLimit::Test;
use JSON::PP;

my ($shards, $windows) = (20, 500);
my @servers = map { RateLimit::Redis->start } 0 .. 1;
my @ports   = map { free_port() } 1 .. $shards;
my sub http_of ($letter) {
    return 'rate_limit_zone 2m; keepalive_requests 1000000; rate_limit_key $arg_k; '
        . redis_block('s0', $servers[0])
        . 'rate_limit_redis renamed { ' . join(' ', map { "shard $letter$_ primary=127.0.0.1:$ports[$_ - 1];" } 1 .. $shards) . ' } '
        . redis_block('s1', $servers[1]);
}
my $nginx = RateLimit::Nginx->start(
    http   => http_of('a'),
    server => join(' ', map { "location /$_ { rate_limit 1000r/h; rate_limit_on_error allow; rate_limit_store $_; }" } qw(s0 s1 renamed))
        . ' location /limits/ { rate_limit off; rate_limit_console view; }',
);
my sub waiting ($n) { return sum0(map { $_->{waiting}{windows} } @{decode_json($nginx->get('/limits/json')->body)->{stores}[$n]{shards}}) }
my sub come ($uri, $count) {
    my $http = $nginx->http;
    my @all  = map { ['GET', "$uri?k=$_"] } 1 .. $count;
    while (my @some = splice @all, 0, 100) {
        $http->pipeline(@some);
    }
    return;
}

$_->kill for @servers;
come('/renamed', 300);
$nginx->reload(http => http_of('b'), wait_old => 1);
come('/s0', 2000);
come('/renamed', 300);
come('/s1', $windows);
cmp_ok waiting(2), '<', $windows, 'the zone is full';
$servers[0]->restart;
wait_until { waiting(2) == $windows } what => "all of the other store's charges to find room";
is sum0($servers[0]->used_of('default/3600', 1 .. 2000)), 2000, 'what filled it has arrived';

done;
