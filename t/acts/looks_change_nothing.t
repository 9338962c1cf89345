# Whatever is in the place of a window, a bucket or slots, of whatever type, with whatever is over: a look-up of the key and a report leave it as it is, in Redis
# and in a cluster, and the log says nothing.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 5000);
my %node    = (main => sub ($) { $redis }, fleet => sub ($key) { $cluster->primary_of($key) });
my %kinds   = (
    window => ['rate_limit 1000r/h', '3600'], refund => ['rate_limit 1000r/h mode=charge_refund', '3600'], lease => ['rate_limit 1000r/h mode=lease', '3600'],
    bucket => ['rate_limit 1r/h burst=1000', '3600b'], tokens => ['rate_limit 1r/h burst=1000 mode=lease', '3600b'], slots => ['rate_limit_concurrency 1000', 'n'],
);
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, timeouts('9s')) . $cluster->block('fleet') . 'rate_limit_key $arg_k;',
    server => join "\n", 'location /limits/ { rate_limit_console manage; }',
    map {
        my $store = $_;
        map { "location /$store-$_ { rate_limit_report; $kinds{$_}[0] name=$_ store=$store; }" } sort keys %kinds
    } sort keys %node
);
my %held = (
    hash   => sub ($key) { ['HSET', $key, used => 3, reset => 1000, over => '3 1000 5', '+' => '9:1000:1000', 'g:me' => '1 2 3'] },
    string => sub ($key) { ['SET', $key, '12'] }, list => sub ($key) { ['RPUSH', $key, 1] }, set => sub ($key) { ['SADD', $key, 'used'] },
    zset   => sub ($key) { ['ZADD', $key, 1, 'used'] }, stream => sub ($key) { ['XADD', $key, '*', 'used', 1] },
);
wait_until { $nginx->get('/fleet-bucket?k=map')->status == 200 } timeout => 20, what => 'the map of the cluster';

for my $store (sort keys %node) {
    for my $kind (sort keys %kinds) {
        for my $type (sort keys %held) {
            my ($key, $what) = ("$store-$type", "$store: $kind, $type");
            my $stored = "rl:$kind/$kinds{$kind}[1]:$key";
            my $node   = $node{$store}->($stored);
            $node->cmd(@{$held{$type}->($stored)});
            my $before = $node->cmd('DUMP', $stored);
            my $look   = $nginx->act("key=$key&limit=$kind&store=$store");
            is $look->status, 200, "$what: looked up" or diag $look->body;
            is $nginx->get("/$store-$kind?k=$key")->status, 200, '... and reported' if $kind ne 'slots';    # of which no report tells
            ok(($node->cmd('DUMP', $stored) // '') eq $before, '... which leaves it as it is');
            is $node->cmd('PTTL', $stored), -1, '... for ever';
        }
    }
}
is $nginx->count_log(qr/rate limit: .* answered/), 0, 'the log says nothing of it';

done;
