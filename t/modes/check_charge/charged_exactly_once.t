# Exactly one charge for each admitted request that is not exempt, also with 400 connections and three
# workers.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $nginx = RateLimit::Nginx->with_limit('150r/h', $shards->block('main', timeouts('9s')), workers => 3, reuseport => 1);
my $etag = $nginx->get('/x')->header('ETag');
my @requests;
for my $n (1 .. 4000) {
    push @requests, ['/x', 'X-Key' => 'client-' . $n % 17, $n % 5 ? () : ('If-None-Match' => $etag)];
}
my @responses = $nginx->parallel(connections => 40, requests => [@requests[0 .. 39]]);
let_connections_age();
push @responses, $nginx->parallel(connections => 400, requests => [@requests[40 .. $#requests]]);
$nginx->stop;

my %admitted;
$responses[$_]->status =~ /^(?:429|304|0)$/ or $admitted{$requests[$_][2]}++ for 0 .. $#requests;
my $statuses = statuses(@responses);
is $statuses->{0} // 0, 0, 'every request was answered';
cmp_ok $statuses->{304}, '>', 300, 'many are exempt';
cmp_ok $statuses->{429}, '>', 300, 'many are rejected';
my %used;
for my $redis ($shards->primaries) {
    $used{s/.*://sr} += $redis->hash($_)->{used} for $redis->keys;
}
is_deeply \%used, \%admitted, 'used is what was admitted, client by client';

for my $replica (map { $shards->replicas($_) } 0, 1) {
    cmp_ok $replica->calls('hmget'), '>', 0, 'a replica is read';
    # The commands that a primary sends count on its replica too, but not by these names.
    is $replica->calls(qw(evalsha eval script)), 0,
        'no script is sent to it';
}
my ($plain, $scripts) = (0, 0);
$plain   += $_->calls('hincrby') for $shards->primaries;
$scripts += $_->calls('evalsha') for $shards->primaries;
cmp_ok $plain, '>', 2 * $scripts,
    "open windows are charged by HINCRBY ($plain), new ones by the script ($scripts)";

done;
