# The test library's Redis Cluster: it starts whole, finds owners of keys, and roles and slots move as told.

use RateLimit::Test;

my @keys = map { "rl:default/3600:c$_" } 1 .. 200;

sub ports (@nodes) { return [map { $_->port } @nodes] }

sub write_all ($cluster) { $cluster->primary_of($_)->cmd('HSET', $_, used => 7) for @keys; return }

subtest 'three primaries with a replica each' => sub {
    my $cluster = RateLimit::Cluster->start(redis => {password => 'secret'});
    my @nodes = $cluster->nodes;
    is_deeply ports($cluster->primaries), ports(@nodes[0 .. 2]), 'the first are primaries';
    is_deeply ports($cluster->replicas),  ports(@nodes[3 .. 5]), 'the others replicas';
    is_deeply [$cluster->seeds], [map { $_->address } @nodes];
    like $cluster->block('main', 'weight 2;'), qr/^rate_limit_redis main \{\n    cluster( 127\.0\.0\.1:\d+){6};\n    weight 2;\n\}\n$/;
    my @odd = ('rl:a/1:{x}y', '{}x', '{{x}}', 'x}{y', 'a{b}{c}', '', "\xff\0\n{\xe4}", 'x' x 16_384);
    is_deeply [map { $cluster->slot_of($_) } @odd], [map { $nodes[0]->cmd('CLUSTER', 'KEYSLOT', $_) } @odd], 'slots of odd keys';
    is $cluster->slot_of($cluster->key_in($_)), $_, "a key in slot $_" for 0, 16_383;
    is +($cluster->slots_of($nodes[0]))[-1] + 1, ($cluster->slots_of($nodes[1]))[0], 'slots without a gap';

    write_all($cluster);
    is $cluster->used('c1'), 7, 'what is used of a window';
    is $cluster->used('nobody'), 0, 'of none';
    my ($replica) = $cluster->replicas_of($keys[0]);
    $replica->wait_synced->cmd('READONLY');
    is $replica->hash($keys[0])->{used}, 7, 'a replica of its owner has it';

    my $old = $cluster->primary_of($keys[0]);
    $cluster->failover($replica);
    is $cluster->primary_of($keys[0]), $replica, 'a replica took over';
    is $old->wait_synced->leader, $replica, 'and is followed';
    $cluster->failover($old, 'TAKEOVER');
    is $cluster->primary_of($keys[0]), $old, 'and back, by force';

    my ($key) = grep { $cluster->primary_of($_) != $old } @keys;
    my ($lost, $heir) = ($cluster->primary_of($key), $cluster->replicas_of($key));
    $lost->kill;
    is $cluster->wait_promoted($lost), $heir, 'after a kill';
    $lost->restart;
    is_deeply ports($cluster->wait_ok->replicas_of($key)), ports($lost), 'it comes back as a replica';
};

subtest 'slots migrate' => sub {
    my $authority = RateLimit::Certificates->authority('ours');
    my $cluster = RateLimit::Cluster->start(primaries => 2, replicas => 0, node_timeout => 5000,
        tls => {%{$authority->issue('server', 'IP:127.0.0.1')}, trusted => $authority->file});
    my ($first, $second) = $cluster->primaries;
    my $key  = $cluster->key_in(5);
    my $more = $key . 'more';
    $first->cmd('HSET', $_, used => 3) for $key, $more;
    my $asked = qx{printf '%s\r\n' 'HGET $key used' QUIT | openssl s_client -quiet -connect @{[$second->address]} 2>&1};
    like $asked, qr/^-MOVED 5 \Q@{[$first->address]}\E\r$/m, 'clients by TLS are sent on to the port of TLS';
    $cluster->begin_migration($first, $second, 5, $key);
    like $first->ask('HGET', $key, 'used'), qr/^ASK 5 /, 'half way: gone';
    is $first->cmd('HGET', $more, 'used'), 3, 'still there';
    is $cluster->node_of(5), $first, 'the owner stays';
    $cluster->migrate_slots($first, $second, 5, 6);
    is $second->cmd('HGET', $_, 'used'), 3, 'arrived' for $key, $more;
    is_deeply ports(map { $cluster->node_of($_) } 4 .. 7), ports($first, $second, $second, $first), 'the owners';

    my $third = $cluster->add_node;
    is_deeply ports($cluster->primaries), ports($first, $second), 'a new node has no slots';
    $cluster->migrate_slots($second, $third, 5);
    is $third->cmd('HGET', $key, 'used'), 3, 'until it gets some';
    ok !eval { $cluster->remove_node($third); 1 }, 'and cannot leave with them';
    $cluster->migrate_slots($third, $first, 5);
    $cluster->remove_node($third);
    ok !$third->alive, 'it leaves';
    is_deeply ports($cluster->nodes), ports($first, $second), 'and is forgotten';
    unlike $_->cmd('CLUSTER', 'NODES'), qr/$third->{id}/, 'by each' for $cluster->nodes;
  SKIP: {
        skip 'these servers migrate key by key only', 1 if !$cluster->knows_atomic_migration;
        $cluster->migrate_at_once($first, $second, 5, 7);
        is $second->cmd('HGET', $key, 'used'), 3, 'in one step';
    }
};

done;
