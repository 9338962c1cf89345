# A reload that has other servers asked, by a block of the same name, begins with nothing of what was found before: not for a master of the
# same name at other sentinels, not for sentinels in the place of a cluster, not for another cluster.

use RateLimit::Test;

my @redis = map { RateLimit::Redis->start } 1 .. 2;
my @sentinels = map {
    my $redis = $_;
    RateLimit::FakeRedis->start(handler => watching, state => {primary => '127.0.0.1 ' . $redis->port . ' 0', others => '127.0.0.1:1'})
} @redis;
my $serve = reserving((time + 1800) . '000');
my @nodes = map {
    my $port = free_port();
    # All nodes of its map are itself.
    RateLimit::FakeRedis->start(host => '0.0.0.0', port => $port, handler => sub ($words, $conn) {
        return cluster_slots([0, 16_383, map { "127.0.0.$_:$port" } 1 .. 9]) if $words->[0] eq 'cluster';
        return $serve->($words, $conn);
    })
} 1 .. 2;
my sub by_sentinel ($i) { return 'rate_limit_redis main { sentinel ' . $sentinels[$i]->address . '; shard a master=m; check_timeout 2s; }' }
my sub by_cluster ($i)  { return 'rate_limit_redis main { cluster 127.0.0.1:' . $nodes[$i]->port . '; check_timeout 2s; }' }
my $nginx = RateLimit::Nginx->with_limit('1000r/h', by_sentinel(0), key => '$arg_k', more => 'rate_limit_on_error deny; rate_limit_mode charge_refund;');
my $nth = 0;
my sub wait_at ($what, $has) {
    ++$nth;
    wait_until { $nginx->get("/x?k=k$nth")->status == 200 && $has->("k$nth") } what => $what;
    return pass $what;
}
my sub in_redis ($i) { return sub ($key) { $redis[$i]->used($key) } }
my sub in_node ($i) { return sub ($key) { grep { "@$_" =~ /\b\Q$key\E\b/ } $nodes[$i]->commands('evalsha'), $nodes[$i]->commands('eval') } }
wait_at('the first sentinel', in_redis(0));
$nginx->reload(http => by_sentinel(1));
wait_at('another one', in_redis(1));
$nginx->reload(http => by_cluster(0));
wait_at('a cluster', in_node(0));
is $nginx->count_log(qr/does not tell its map/), 0, 'no server that sentinels named is taken for one of the cluster';
my $asked = () = $nodes[0]->commands('cluster');
$nginx->reload(http => by_cluster(1), wait_old => 1);
wait_at('another cluster', in_node(1));
is scalar(() = $nodes[0]->commands('cluster')), $asked, 'the first one is asked no more';
$nginx->reload(http => by_sentinel(0));
wait_at('a sentinel again', in_redis(0));
is $nginx->count_log(qr/before it was/), 0, 'each is found anew';

done;
