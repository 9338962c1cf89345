# docs/redis.md: the replicas of other regions are only read, by a user who may do no more.

use RateLimit::Test;

my $redis = project_file('docs/redis.md');
my ($all)  = code($redis, 'acl') =~ /^(user nginx .*)$/m;
my ($read) = $redis =~ /The replicas of other \[regions\].*? a user with `([^`]+)`/s or die 'docs/redis.md does not say which';
my $here  = RateLimit::Shards->start(1, redis => {acl => [$all]});
my $there = RateLimit::Shards->start(1, replicas => 1, redis => {acl => ["user nginx on >secret resetchannels $read"]});
$_->cmd('SELECT', 1) for $here->all, $there->all;
my $nginx = RateLimit::Nginx->start(
    http => 'rate_limit_redis main { username nginx; password secret; database 1; fresh off; ' . timeouts('9s') . '
        region eu { shard a primary=' . $here->primary->address . '; }
        region us { shard a replica=' . $there->replica->address . '; } here eu; }',
    server => 'location / { rate_limit 10r/d window=clock store=main key=$arg_k; add_header X-Source $rate_limit_source; }'
);
$there->primary->cmd('HSET', 'rl:default/86400c:k', used => 3, reset => 1000 * (86400 * (1 + int(time / 86400))));
$there->wait_synced;
is $nginx->get('/x?k=k')->header('X-RateLimit-Used'), 4, 'the region is read';
is $nginx->get('/x?k=k')->header('X-Source'), 'replica', '... by its replica';
is_deeply $there->replica->cmd('ACL', 'LOG'), [], 'which has refused nothing';
for my $right ($read =~ /\+(\w+)/g) {
    ok $there->replica->calls($right), "... and was asked for $right";
}

done;
