# A server may close idle connections: that is no outage, and nginx connects again before a request needs it.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->with_limit('100r/h', $shards->block('main', 'check_timeout 2s; connect_timeout 2s;'),
    key => 'k', more => 'rate_limit_on_error deny; location /free { rate_limit off; }');
my ($worker) = $nginx->workers;
my sub sockets () { return scalar grep { (readlink // '') =~ /^socket/ } glob "/proc/$worker/fd/*" }
my sub clients ($redis) { return $redis->cmd('CLIENT', 'LIST', 'TYPE', 'normal') =~ /^id=(\d+)/mg }    # and us
my $client = $nginx->http;
is $client->get('/free')->status, 200, 'nginx serves';
wait_until { !grep { 2 != (() = clients($_)) } $shards->all } what => 'nginx to connect';
my $sockets = sockets();
my $key    = 'rl:default/3600:k';
for my $round (1 .. 5) {
    is $client->get('/x')->status, 200, "round $round";
    wait_until { ($shards->replica->hash($key)->{used} // 0) == $round } what => 'the charge';
    for my $redis ($shards->all) {
        my %before = map { $_ => 1 } clients($redis);
        $redis->drop_clients;
        wait_until { my @now = clients($redis); @now == 2 && grep { !$before{$_} } @now } what => 'a new connection';
    }
    wait_until { sockets() == $sockets } what => 'nothing to be left of those before';
}
$nginx->stop;
is $shards->primary->hash($key)->{used}, 5, 'no charge is lost';
is $nginx->count_log(qr/rate limit:/), 0, 'and not a word about it';

done;
