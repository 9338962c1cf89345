# Three machines, whose clocks differ, take from one bucket by plain commands too, where they know that it has room: several clients come to all of
# them, or to one after others have taken what that one knows to be there. In any time no more pass than the burst and the rate.

use RateLimit::Test;
use List::Util qw(min);

my $redis    = RateLimit::Redis->start;
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, log_level => 'error', http => redis_block('main', $redis),
        server  => 'keepalive_requests 1000000; rate_limit_key $http_x_key; rate_limit_store main; location / { rate_limit 200r/s burst=100; }')
} 1 .. 3;
$machines[1]->travel('+10');
$machines[2]->travel('-10');

my $rush = RateLimit::Rush->new(\@machines, connections => 3, uri => '/x', headers => ['X-Key' => 'a']);
$redis->forget_calls;
my $most = 0;    # what there is in each round, or less where less is asked for
for my $round (1 .. 9) {
    my $before = $rush->asked;
    $rush->go(0.15, least => 8, $round % 3 ? () : (only => 0));
    $most += min(30 + ($round % 2 ? 100 : 40), $rush->asked - $before);
    let_pass($round % 2 ? 0.2 : 0.6);    # in which the bucket fills in part, or all
}
my ($passed, $over, $plain) = (scalar $rush->passed, $rush->most_over(100, 200), $redis->calls('bitfield'));
diag sprintf '%d of %d requests passed, %d by plain commands, %.1f above burst and rate', $passed, $rush->asked, $plain, $over;
cmp_ok $over, '<', 1e-6, 'requests that pass are never more than burst and rate in any time';
cmp_ok $passed, '>=', 0.8 * $most, '... and nearly as many';
cmp_ok $plain, '>=', $passed / 4, '... many of them by plain commands';

done;
