# Shards for whose counters the zone has no room are counted together, as the shard "*" of a store "*", and by themselves show 0: the sum over all
# is what was written, and each answer was waited for once.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 512k; rate_limit_redis main { ' . timeouts('9s')
        . join(' ', map { "shard s$_ primary=@{[$redis->address]};" } 1 .. 8) . ' }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; location /limits/ { rate_limit_console view; }
        location / { rate_limit 1000r/h name=w mode=charge_refund; }',
);
my $requests = 100;
$nginx->get("/?k=$_") for 1 .. $requests;

my (@shards, $others, %stored, %waits);
wait_until {
    my ($main, $rest, @more) = @{decode_json($nginx->get('/limits/json')->body)->{stores}};
    (@shards, $others) = ();
    return 0 if @more || !$rest;
    ($others, @shards) = ($rest->{shards}[0], @{$main->{shards}});
    my $text = $nginx->get('/limits/metrics')->body;
    (%stored, %waits) = ();
    $stored{"$1 $2"} = $3 while $text =~ /^nginx_rate_limit_writes_total\{store="([^"]+)",shard="([^"]+)",kind="reservation",result="stored"\} (\d+)$/mg;
    $waits{"$1 $2"}  = $3 while $text =~ /^nginx_rate_limit_store_wait_seconds_count\{store="([^"]+)",shard="([^"]+)"\} (\d+)$/mg;
    sum0(values %stored) == $requests;
} what => 'all writes to be told';
is scalar(@shards), 8, 'each shard is told';
is_deeply [@{$others}{qw(name nodes)}], ['*', []], '... and one without nodes that stands for those without counters';
cmp_ok $others->{writes}{reservation}{stored}, '>', 0, 'which has counted';
ok scalar(grep { $_->{writes}{reservation}{stored} } @shards), '... as have some of the shards';
is sum0(map { $_->{writes}{reservation}{stored} } @shards, $others), $requests, 'together JSON has each write once';
is sum0(map { $_->{wait}{count} } @shards, $others),                 $requests, '... and each wait';
is sum0(values %waits), $requests, '... as have metrics';
is $stored{'* *'}, $others->{writes}{reservation}{stored}, '... with the same numbers';
like $nginx->get('/limits/')->body, qr{<h3>Store \*</h3><p>All shards together for whose counters the zone has no room\.</p>}, 'so does the page';

done;
