# Each limit of a request is checked, or not, by itself: the primary's answer to one stands for no other.

use RateLimit::Test;

my @shards = map { RateLimit::Shards->start(1, replicas => 1) } 1 .. 2;
my $nginx  = RateLimit::Nginx->start(
    http   => $shards[0]->block('main') . $shards[1]->block('other', always_checks()),
    server => 'rate_limit_key $http_x_key; location / { rate_limit 5000r/h name=a store=main; rate_limit 50r/h name=b store=other; }',
);
sub get () { return $nginx->get('/x', 'X-Key' => 'k') }
my @checks = map { $_->replica } @shards;
get();
wait_until { $shards[$_]->primary->used('k', (qw(a/3600 b/3600))[$_]) == 1 } what => 'the charge' for 0, 1;
wait_until { my $before = $checks[0]->calls('hmget'); get(); $checks[0]->calls('hmget') == $before } what => 'the answer to a charge';
$_->forget_calls for @checks;
is get()->status, 200, 'another request';
is_deeply [map { $_->calls('hmget') } @checks], [0, 1], 'asks about the limit that has to be asked about';
my $rejected = wait_until { my $r = get(); $r->status == 429 && $r } what => 'the other limit to be reached';
is limits($rejected)->{resource}, 'b', 'it rejects';
$nginx->stop;
is $shards[0]->primary->used('k', 'a/3600'), $shards[1]->primary->used('k', 'b/3600'), 'and what it rejects is charged to neither';

done;
