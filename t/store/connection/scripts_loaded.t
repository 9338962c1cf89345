# A primary is given the scripts when it is connected to: no charge needs a second try, unless loading is forbidden.

use RateLimit::Test;

sub charge ($redis, $block) {
    my $nginx = RateLimit::Nginx->with_limit('9r/h', $block);
    is $nginx->get('/x', 'X-Key' => $_)->status, 200, "$_: a new window" for 'a', 'b';
    wait_until { @{$redis->cmd('KEYS', '*')} == 2 } what => 'the charges';
    $nginx->stop;
    is $redis->used($_), 1, "$_ is charged once" for 'a', 'b';
    unlike $nginx->error_log, qr/rate limit: /, 'nothing is logged';
    return;
}

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
charge($primary, $shards->block('main'));
is $primary->calls('evalsha'), 2, 'one call for each';
is $primary->calls('eval'), 0, 'the text is not sent with it';
is $primary->info('errorstats')->{errorstat_NOSCRIPT}, undef, 'no script is missing';
is $replica->calls('script'), 0, 'a replica is given none';

my $strict = RateLimit::Redis->start(acl => ['user nginx on >secret ~* &* +@all -script']);
charge($strict, redis_block('main', $strict, 'username nginx; password secret; check_timeout 9s;'));
cmp_ok $strict->calls('eval'), '>=', 1, 'where loading is not allowed, the first charge brings the text';

done;
