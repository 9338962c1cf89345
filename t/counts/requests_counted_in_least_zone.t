# However many shards and nodes there are, the zone has room for what no other counters stand in for: requests, what gives way for want of room, and
# what limits decide together that have no counters of their own.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 128k; rate_limit_redis main { ' . join(' ', map { "shard s$_ primary=@{[$redis->address]};" } 1 .. 8) . ' }',
    server => 'rate_limit_key $arg_k; rate_limit_store local; location /limits/ { rate_limit_console view; }
        location / { rate_limit 2r/d name=here; } location /there { rate_limit 1r/d name=there store=main; }',
);
my $windows = 4000;
$nginx->parallel(requests => [map { ["/?k=$_"] } 1 .. $windows]);
$nginx->get('/?k=x') for 1 .. 3;

my $json = decode_json($nginx->get('/limits/json')->body);
is_deeply {map { $_ => $json->{requests}{$_} } qw(passed rejected)}, {passed => $windows + 2, rejected => 1}, 'requests are counted';
is sum0(map { $_->{decisions}{passed} } @{$json->{limits}}), $windows + 2, 'and what limits decided';
cmp_ok $json->{zone}{evicted}{local} + $json->{zone}{full}, '>', 0, 'and what gave way';
like $nginx->get('/limits/metrics')->body, qr/^nginx_rate_limit_requests_total\{outcome="rejected"\} 1$/m, 'metrics say the same';

done;
