# The test library's Sentinel: it starts whole, all sentinels name the new primary after a failover, and the old one goes on as
# a primary until they make it a replica.

use RateLimit::Test;

subtest 'one primary' => sub {
    my $set = RateLimit::Sentinels->start(redis => {password => 'secret', args => ['--min-replicas-to-write', 1]});
    my ($old, @replicas) = $set->servers;
    is $set->address_of, $old->address, 'the first server is the primary';
    is_deeply [map { $_->port } $set->primary, $set->replicas], [map { $_->port } $old, @replicas];
    is_deeply [map { $_->word('mymaster') } $set->sentinels], [($old->address) x 3], 'all sentinels say so';
    my @known = map { @{$_->about('mymaster')}{qw(num-slaves num-other-sentinels flags)} } $set->sentinels;
    is_deeply \@known, [(2, 2, 'master') x 3], 'and know all';
    is_deeply [map { $_->word('other') } $set->sentinels], [('') x 3], 'and know of no other';
    is $old->cmd('SET', 'a', 1), 'OK', 'replicas are enough to write';
    is $_->wait_synced->cmd('GET', 'a'), 1, 'a replica has it' for @replicas;
    like $set->block('main', 'weight 2;'),
        qr/^rate_limit_redis main \{\n    sentinel( 127\.0\.0\.1:\d+){3};\n    shard mymaster master=mymaster;\n    weight 2;\n\}\n$/;

    my ($sentinel) = $set->sentinels;
    my $client = RateLimit::HTTP->new(port => $sentinel->port);
    wait_until { $sentinel->clients == 1 } what => 'a client of the sentinel';
    $client->send(RateLimit::RESP::encode('SENTINEL', 'MASTER', 'mymaster'));
    wait_until { ($sentinel->clients)[0]{cmd} eq 'sentinel|master' } what => 'its command';

    my $second = $set->failover;
    isnt $second, $old, 'another primary';
    is $second->role, 'master', 'which is one';
    wait_until { $old->role eq 'slave' } what => 'the old one to follow';
    is $old->wait_synced->leader, $second, 'the new one';

    is $second->restart->role, 'master', 'a promoted server starts again as what it was';

    $sentinel->kill;
    is $set->address_of, $second->address, 'the other sentinels are asked';
    $sentinel->restart;
    is $set->wait_known->primary, $second, 'all know one another again';
    is $sentinel->word('mymaster'), $second->address, 'it has kept what it knew';
};

subtest 'two primaries, TLS, a password for the sentinels, names' => sub {
    my $authority = RateLimit::Certificates->authority('ours');
    my $set = RateLimit::Sentinels->start(
        masters => {a => {}, b => {replicas => 1}}, sentinels => 2, name => 'localhost',
        tls => {%{$authority->issue('server', 'DNS:localhost,IP:127.0.0.1')}, trusted => $authority->file},
        sentinel => {password => 'theirs', acl => ['user eve on >e +ping']});
    my ($sentinel) = $set->sentinels;
    is $sentinel->word('a'), 'localhost:' . $set->primary('a')->tls_port, 'by name, and by the port of TLS';
    isnt $sentinel->port, ($set->sentinel_addresses)[0] =~ s/.*://r, 'the sentinels too';
    is $sentinel->ask('AUTH', 'eve', 'e'), 'OK', 'its user';
    like $sentinel->ask('SENTINEL', 'MASTER', 'a'), qr/^NOPERM/, 'may not ask';
    $sentinel->cmd('AUTH', 'theirs');
    my $old = $set->primary('b');
    $old->cmd('HSET', 'rl:core/60:alice', used => 3);
    $set->primary('a')->cmd('HSET', 'rl:core/60:alice', used => 2);
    is $set->used('alice', 'core/60'), 5, 'what is used, together';
    $_->wait_synced for $set->replicas('b');
    $old->freeze;
    my $new = $set->wait_switched('b', $old);
    is $new->hash('rl:core/60:alice')->{used}, 3, 'another primary';
    $old->thaw;
    is $old->role, 'master', 'the old one goes on as a primary';
    is $set->primary('b'), $new, 'the sentinels know better';
    ok !eval { $set->failover; 1 }, 'which master has to be said';
};

done;
