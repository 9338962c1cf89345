# A frozen primary: requests go on by its replica, and admitted - in doubt <= stored <= admitted.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $primary = $shards->primary;
my $nginx   = RateLimit::Nginx->with_limit('1000r/h',
    $shards->block('main', 'check_timeout 1500ms; charge_timeout 7s; connect_timeout 3s;'),
    key => 'k', workers => 2, more => 'rate_limit_on_error deny;');
my $name     = quotemeta $primary->address;
my $admitted = 0;

sub requests ($count) {
    my $statuses = statuses($nginx->parallel(connections => 8, requests => $count, uri => '/x'));
    $admitted += $count;
    return is_deeply $statuses, {200 => $count}, "$count requests pass";
}

requests(40);
wait_until { $primary->used('k') == $admitted } what => 'charges';
$primary->freeze;
requests(40);
$nginx->wait_log(qr/primary $name of shard "a" of "main" does not serve: no answer in check_timeout/);
requests(40);
$primary->thaw;
wait_until { $primary->used('k') == $admitted } what => 'what was under way and what waited';
is $nginx->count_log(qr/in doubt/), 0, 'a short silence leaves no doubt';

$primary->freeze;
requests(40);
$nginx->wait_log(qr/are in doubt/);
requests(40);
$primary->thaw;
# The charges in doubt had arrived: the server executes them when it wakes up.
wait_until { $primary->used('k') == $admitted } what => 'what was in doubt and what waited';
$nginx->stop;
is $primary->used('k'), $admitted, 'nothing is sent twice, nothing is lost';

done;
