# A replica that has lost its primary serves old counts: beside them used never goes backwards, the reset stays, and
# no client passes its limit.

use RateLimit::Test;

my $primary = RateLimit::Redis->start;
my $link    = RateLimit::Proxy->start(to => $primary->port);
my $cut     = RateLimit::Redis->start(replica_of => $link, wait => 0);
my $linked  = RateLimit::Redis->start(replica_of => $primary);
wait_until { eval { $cut->info('replication')->{master_link_status} eq 'up' } } what => 'the link';

my $nginx = RateLimit::Nginx->start(
    workers => 3, reuseport => 1,
    http    => redis_block('main', [$primary, $cut, $linked], always_checks() . ' read_from spread;')
        . redis_block('alone', [$primary, $cut], always_checks() . 'prefix alone:;') . '
        rate_limit_key $http_x_key; add_header X-Worker $pid always;',
    server => 'location / { rate_limit 20r/h store=main; } location /alone { rate_limit 20r/h store=alone; }',
);
my @clients = map { $nginx->http } 1 .. 12;
my $turn    = 0;
sub next_one ($uri, $key) { return $clients[++$turn % @clients]->get($uri, 'X-Key' => $key) }

my @before = map { next_one('/x', 'a') } 1 .. 4;
wait_until { $cut->used('a') == 4 } what => 'charges on the replica to be cut';
wait_until { $linked->used('a') == 4 } what => 'charges on the other one';
$link->stall('answers');
$_->forget_calls for $cut, $linked;

my @after = map { next_one('/x', 'a') } 5 .. 20;
is_deeply [map { limits($_)->{used} } @before, @after], [1 .. 20], 'used goes up by one each time';
my $stored = $primary->stored('a')->{reset};
my %resets = map { limits($_)->{reset} => 1 } @after;
is_deeply [keys %resets], [ceil($stored / 1000)], 'each shows the stored reset';
cmp_ok scalar workers_of(@after), '>', 1, 'by several workers';
cmp_ok $cut->calls('hmget'), '>', 0, 'the replica that is cut off was asked';
is $cut->used('a'), 4, 'and said an old count';
is_deeply statuses(map { next_one('/x', 'a') } 1 .. 10), {429 => 10}, 'none passes the limit';

my %new = (connections => 8, requests => 60, uri => '/alone', headers => ['X-Key' => 'new']);
is_deeply statuses($nginx->parallel(%new)), {200 => 20, 429 => 40}, 'nor where that replica is the only one';
is_deeply $cut->hash('alone:default/3600:new'), {}, 'which knows no such window';

$link->flow;
wait_until { $cut->used('a') == 20 } what => 'the replica to catch up';
is limits(next_one('/x', 'a'))->{used}, 20, 'nothing changes when it has caught up';
is $primary->used('a'), 20, 'nor does a charge too many show';

done;
