# One limit on one shard: a read on the replica before the request, one charge on the primary after it, rejections
# answered from the check alone, 304 free.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary(0), $shards->replica(0, 0));
my $nginx = RateLimit::Nginx->with_limit('3r/h name=core', $shards->block('main'));

$replica->wait_connected;
my $before = int now;
my @seen;
for my $n (1 .. 3) {
    my $response = $nginx->get('/x', 'X-Key' => 'alice');
    is $response->status, 200, "request $n passes";
    push @seen, limits($response);
    wait_until { $replica->used('alice', 'core/3600') == $n } what => "charge $n on the replica";
}
my $after = now;
my $reset = $seen[0]{reset};
is_deeply \@seen, [map { {limit => 3, used => $_, remaining => 3 - $_, reset => $reset, resource => 'core'} } 1 .. 3],
    'used counts this request, remaining counts down, reset does not move, and there is no Retry-After';
cmp_ok $reset, '>=', $before + 3600, 'reset is a period ahead';
cmp_ok $reset, '<=', $after + 3601,  'and no more';

my $charges = $primary->calls('hincrby') + $primary->script_calls;
my @reads   = map { $_->calls('hmget') } $primary, $replica;
cmp_ok $reads[1], '>', 0, 'the replica was asked';
cmp_ok $reads[0], '<=', $reads[1], 'and where that took too long the primary, too';
my $rejected = $nginx->get('/x', 'X-Key' => 'alice');
my $limits   = limits($rejected);
shows $rejected, 429, {used => 3, remaining => 0, reset => $reset}, 'the fourth is rejected, with what is stored';
cmp_ok abs($limits->{retry_after} - ($limits->{reset} - $rejected->date)), '<=', 1, 'Retry-After is what is left';
is_deeply [map { $_->calls('hmget') } $primary, $replica], \@reads, 'nothing is read: this machine has used it up';
is $nginx->get('/x', 'X-Key' => 'bob')->status, 200, 'another client is not affected';
is $nginx->get('/x')->header('X-RateLimit-Limit'), undef, 'an empty key: not limited';
is $primary->used('alice', 'core/3600'), 3, 'the rejected request is not charged';

my $etag = $nginx->get('/x', 'X-Key' => 'carol')->header('ETag');
wait_until { $replica->used('carol', 'core/3600') == 1 } what => 'the charge';
for (1 .. 3) {
    shows $nginx->get('/x', 'X-Key' => 'carol', 'If-None-Match' => $etag), 304, {used => 1}, 'not modified, and free';
}
$nginx->stop;
is $primary->used('carol', 'core/3600'), 1, 'no charge for 304';
is $replica->calls(qw(set eval evalsha)), 0, 'nothing is written to the replica';

done;
