# In a Redis Cluster the overrides that machines share lie in the slot of their key, also when that slot moves to another node. With Sentinel a new primary
# has them after a failover, and with several shards the one that the bytes `!overrides` choose.

use RateLimit::Test;

my sub machines ($block) {
    return map {
        RateLimit::Nginx->start(
            workers => 2, reuseport => 1, http => "$block rate_limit_key \$http_x_key;",
            server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/h store=main; }')
    } 1 .. 2;
}
my sub settled ($nginx, $key) { return join ' ', sort { $a <=> $b } keys %{statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. 8)} }
my sub shared_by ($here, $there, $key) {
    wait_until { $here->act("do=ban&limit=default&key=$key")->status == 200 } what => "a ban of $key";
    is settled($here, $key), 429, '... holds here';
    wait_until { settled($there, $key) eq '429' } timeout => 5, what => 'the ban on the other machine';
}
my sub has ($node) { return $node->cmd('EXISTS', 'rl:!overrides') }

my sub survive ($servers, $settings, $event) {
    my @machines = machines($servers->block('main', "$settings overrides shared;"));
    shared_by(@machines, 'a');
    $event->();
    shared_by(reverse(@machines), 'b');
    is settled($_, 'a'), 429, 'the one of before holds' for @machines;
}

subtest 'several shards' => sub {
    my $shards = RateLimit::Shards->start(4);
    survive($shards, '', sub { is scalar(grep { has($_) } $shards->all), 1, 'one of them has it' });
};

subtest 'a cluster' => sub {
    my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
    survive($cluster, timeouts('9s'), sub {
        my $slot = $cluster->slot_of('rl:!overrides');
        my $from = $cluster->node_of($slot);
        my ($to) = grep { $_ != $from } $cluster->primaries;
        $cluster->migrate_slots($from, $to, $slot);
    });
};

subtest 'Sentinel' => sub {
    my $sentinels = RateLimit::Sentinels->start;
    survive($sentinels, timeouts('9s'), sub { $sentinels->failover });
};
done;
