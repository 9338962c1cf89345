# One limit on one shard: a read on the replica before the request, one charge on the primary after it, rejections
# answered from the check alone, 304 free.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary(0), $shards->replica(0, 0));
my $nginx = RateLimit::Nginx->with_limit('3r/h name=core', $shards->block('main'));

my $before = int now;
my @seen;
for my $n (1 .. 3) {
    my $response = $nginx->get('/x', 'X-Key' => 'alice');
    is $response->status, 200, "request $n passes";
    push @seen, limits($response);
    wait_until { $replica->used('alice', 'core/3600') == $n } what => "charge $n on the replica";
}
my $after = now;
is_deeply [map { $_->{used} } @seen],      [1, 2, 3], 'used counts this request';
is_deeply [map { $_->{remaining} } @seen], [2, 1, 0], 'remaining counts down';
is_deeply [map { $_->{limit} } @seen],     [3, 3, 3], 'limit';
is_deeply [map { $_->{resource} } @seen],  [('core') x 3], 'resource';
is_deeply [map { $_->{reset} } @seen],     [($seen[0]{reset}) x 3], 'reset does not move';
cmp_ok $seen[0]{reset}, '>=', $before + 3600, 'reset is a period ahead';
cmp_ok $seen[0]{reset}, '<=', $after + 3601,  'and no more';
ok !defined $seen[0]{retry_after}, 'no Retry-After while allowed';

my $charges = $primary->calls('hincrby') + $primary->script_calls;
my $reads   = $replica->calls('hmget');
my $rejected = $nginx->get('/x', 'X-Key' => 'alice');
my $limits   = limits($rejected);
is $rejected->status,   429, 'the fourth is rejected';
is $limits->{used},      3,  'used as stored';
is $limits->{remaining}, 0,  'nothing remains';
is $limits->{reset}, $seen[0]{reset}, 'the same reset';
cmp_ok abs($limits->{retry_after} - ($limits->{reset} - $rejected->date)), '<=', 1, 'Retry-After is what is left';
is $replica->calls('hmget'), $reads, 'nothing is read: this machine has used it up';
is $primary->calls('hmget'), 0, 'on the primary neither';
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
