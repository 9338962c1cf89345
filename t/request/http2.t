# HTTP/2: each stream is a request of its own, decided and charged once, with the same headers; hundreds of
# concurrent streams leave exactly one charge each.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $redis  = $shards->primary(0);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main') . '
        server {
            listen 127.0.0.1:%%PORT%% http2;
            location / { rate_limit_key $http_x_key; rate_limit 1000r/h store=main; }
            location /few { alias %%DIR%%/html/x; rate_limit_key $http_x_key; rate_limit 2r/h name=few store=main; }
        }',
);
my $port = $nginx->port;

shows http2($port, '/x', 'X-Key' => 'one'), 200, {limit => 1000, used => 1, remaining => 999, resource => 'default'},
    'a request passes, with headers';

my $many = h2load($port, '/x', requests => 600, clients => 4, streams => 50, headers => ['x-key: many']);
is_deeply [@$many{2, 4, 5}], [600, 0, 0], 'concurrent streams pass';
wait_until { $redis->used('many') >= 600 } what => 'charges';
is $redis->used('many'), 600, 'one charge a stream';

for my $count (1 .. 2) {
    http2($port, '/few', 'X-Key' => 'few');
    wait_until { $shards->replica->used('few', 'few/3600') == $count } what => 'a charge';
}
my $rejected = http2($port, '/few', 'X-Key' => 'few');
is $rejected->status, 429, 'the third is rejected';
ok limits($rejected)->{retry_after} > 3600 - patience(100), 'with Retry-After';
is_deeply [@{h2load($port, '/few', requests => 200, streams => 50, headers => ['x-key: few'])}{2, 4, 5}],
    [0, 200, 0],
    'as are concurrent streams';
$nginx->stop;
is $redis->used('few', 'few/3600'), 2, 'which are not charged';

done;
