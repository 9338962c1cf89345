# conf-examples/behind-a-cdn.conf: the client's address is what trusted proxies say, and IPv6 networks share a window.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example('behind-a-cdn', shards => $shards, app => $app, replace => {'198.51.100.0/24' => '127.0.0.0/8'});

my $total = 0;
sub used_by ($list) {
    my $used = limits($nginx->get('/', 'X-Forwarded-For' => $list))->{used};
    ++$total;
    wait_until { sum0(values %{$shards->primary->used_by_key}) == $total } what => "charge $total";
    $shards->wait_synced;
    return $used;
}
is used_by('203.0.113.7'), 1, 'a client';
is used_by('203.0.113.7'), 2, 'again';
is used_by('203.0.113.8'), 1, 'another client';
is used_by('1.2.3.4, 203.0.113.7'), 3, 'what a client made up itself does not help';
is used_by('203.0.113.7, 127.9.9.9'), 4, 'edges in between are passed over';
is used_by('2001:db8:1:2::1'), 1, 'an IPv6 client';
is used_by('2001:db8:1:2:ffff::9'), 2, 'its /64 shares a window';
is used_by('2001:db8:1:3::1'), 1, 'the next /64 has its own';
$nginx->stop;
ok $shards->primary->cmd('EXISTS', 'rl:addr/60:203.0.113.7'), 'the key is the address';
ok $shards->primary->cmd('EXISTS', 'rl:addr/60:2001:db8:1:2::/64'), 'of IPv6 the network';

my $direct = start_example('behind-a-cdn', shards => $shards, app => $app);
$shards->flush;
is limits($direct->get('/', 'X-Forwarded-For' => '203.0.113.50'))->{used}, 1, 'a client that is no edge';
$direct->stop;
ok $shards->primary->cmd('EXISTS', 'rl:addr/60:127.0.0.1'), 'is limited by its own address';

done;
