# conf-examples/gradual-rollout.conf: over the limit, a share of the clients is rejected and the rest only counted.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example('gradual-rollout', shards => $shards, app => $app,
    replace => {'/var/log/nginx/limits.log' => '%%DIR%%/limits.log'});

my $count = 60;
for my $primary ($shards->primaries) {
    $primary->pipeline(map { ['HSET', "rl:api/60:client-$_", 'used', 100, 'reset', (time + 50) . '000'] } 1 .. $count);
}
$shards->wait_synced;

my $http = $nginx->http;
my @first  = map { $http->get('/', 'X-API-Key' => "client-$_") } 1 .. $count;
my @second = map { $http->get('/', 'X-API-Key' => "client-$_") } 1 .. $count;
my $rejected = grep { $_->status == 429 } @first;
my $passed   = grep { $_->status == 200 } @first;
is $rejected + $passed, $count, 'rejected or passed';
cmp_ok $rejected, '>=', 3,  'a share of the clients is rejected';
cmp_ok $rejected, '<=', 30, 'but a small one';
is_deeply [map { $_->status } @second], [map { $_->status } @first], 'the same clients each time';
is_deeply [sort keys %{{map { limits($_)->{remaining} => 1 } @first}}], [0], 'all are told that nothing remains';
is scalar(grep { $_->header('Retry-After') } @first), $rejected, 'Retry-After only with a rejection';
is limits($http->get('/', 'X-API-Key' => 'new'))->{remaining}, 99, 'a client within the limit';
is_deeply limits($http->get('/')), {}, 'one without a key has no limit';
$http->close;
$nginx->stop;

my @log = split /\n/, read_text($nginx->folder . '/limits.log');
is scalar(grep { / decision=REJECTED used=100\/100 shard=[ab] store_time=\d+\.\d{3}$/ } @log), 2 * $rejected, 'the log has each rejection';
is scalar(grep { / 200 id=[0-9a-f]{16} limit=api decision=REJECTED_DRY_RUN / } @log), 2 * $passed, 'each request that would have been rejected';
is scalar(grep { / 200 id=[0-9a-f]{16} limit=api decision=PASSED used=1\/100 / } @log), 1, 'and the one that passed';
is_deeply [map { $_->hash('rl:api/60:client-1')->{used} } $shards->primaries], [100, 100], 'nobody over the limit is charged';

done;
