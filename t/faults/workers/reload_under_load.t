# Reloads under load: every request is answered, every admitted one charged once. With a frozen Redis an old worker
# leaves no later than charge_timeout; what it had not sent is sent by others, and nothing twice.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $primary = $shards->primary;

sub http ($check_timeout) {
    return $shards->block('main', "check_timeout $check_timeout; connect_timeout $check_timeout; charge_timeout 1500ms;");
}
my $nginx   = RateLimit::Traffic->nginx(workers => 2, http => http('9s'));
my $traffic = RateLimit::Traffic->start($nginx, keepalive => 0);

sub stored () { return sum0($primary->used_of('default/3600', RateLimit::Traffic->keys)) }

$traffic->more(100);
for (1 .. 4) {
    $nginx->reload;
    $traffic->more(50);
}
wait_until { !$nginx->old_workers } what => 'old workers to leave';
$traffic->more(50)->is_served('four reloads', timeout => 9, passes => 1);
$traffic->stop;
my $admitted;
wait_until { $admitted = @{$traffic->since(0)}; stored() == $admitted } what => 'all charges';    # a request is logged after its response
is $traffic->unanswered, 0, 'every request got a response';
is $nginx->count_log(qr/rate limit:|could not be checked/), 0, 'not a word about it';

$nginx->reload(http => RateLimit::Traffic::log_format() . http('600ms'), wait_old => 1);
$traffic = RateLimit::Traffic->start($nginx, keepalive => 0);
$traffic->more(50);
$_->freeze for $shards->all;
ok eval { $nginx->reload(wait_old => 1) }, 'old workers leave a frozen Redis';
$traffic->more(50);
$_->thaw for $shards->all;
wait_until {
    my $last = $traffic->mark;
    !grep { $_->{outcome} ne 'PASSED' } @{$traffic->more(50)->since($last)}
} what => 'new workers to be served';
$traffic->stop->is_served('a reload while all is frozen', timeout => 0.6);
is $traffic->unanswered, 0, 'every request got a response';
cmp_ok stored(), '<=', $admitted + grep({ $_->{outcome} =~ /PASSED|ERROR_ALLOWED/ } @{$traffic->since(0)}),
    'nothing is charged twice';
is $nginx->count_log(qr/are lost/), 0, 'nor lost';
is $nginx->count_log(qr/open socket/), 0, 'no socket is left open';

done;
