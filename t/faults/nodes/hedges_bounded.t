# A replica that has become slow, and is not silent for long enough to count as down, gives a tenth of its checks to the next node and no
# more: the load of the others does not double.

use RateLimit::Test;

my $shards    = RateLimit::Shards->start(1, replicas => 1);
my $primary   = $shards->primary;
my ($replica) = $shards->replicas(0);
my $slow      = RateLimit::Proxy->start(to => $replica->port);
my $nginx     = RateLimit::Nginx->with_limit('1000000r/h',
    redis_block('main', [$primary, $slow], 'fresh off; check_timeout 2700ms; connect_timeout 9s;'),
    more => 'keepalive_requests 1000000;', key => '$arg_k', log_level => 'error');
wait_until { $nginx->get('/x?k=warm'); $replica->calls('hmget') } what => 'both to be connected';
$slow->stall('answers');
$_->forget_calls for $primary, $replica;
my $requests = 400;
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { "/x?k=$_" } 1 .. 20], requests => $requests, connections => $requests);
wait_until { $replica->calls('hmget') == $requests } what => 'all checks to go to the replica';
wait_until { $primary->calls('hmget') >= 20 } what => 'the others to be asked';
sleep 1;    # more go there in that time, if any do
$slow->flow;
is $flood->counts->{2}, $requests, 'all requests pass';
is $replica->calls('hmget'), $requests, 'each is a check of the replica';
my $hedges = $primary->calls('hmget');
cmp_ok $hedges, '>=', 20, 'some go to the primary too';
# The burst may begin in one second and end in the next.
cmp_ok $hedges, '<=', 2 * $requests / 10, 'at most a tenth of the checks of a second';
is $nginx->count_log(qr/could not be checked|does not serve|is down/), 0, 'none fails, and no node is given up';

done;
