# Under load a primary is killed, frozen and restarted with its data: admitted - in doubt <= stored <= admitted, and no
# request notices while its replica answers.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1, redis => {appendonly => 1});
my $primary = $shards->primary;
my $nginx   = RateLimit::Traffic->nginx(
    http => $shards->block('main', 'check_timeout 2s; connect_timeout 2s; charge_timeout 3s;'));
my @keys    = RateLimit::Traffic->keys;
my $traffic = RateLimit::Traffic->start($nginx, connections => 16);
my %limit = (timeout => 2, passes => 1);

sub stored () {
    my %stored;
    @stored{@keys} = $primary->used_of('default/3600', @keys);
    return \%stored;
}

# The worker's own count is in its log, once a second: one more charge in doubt brings it.
sub in_doubt ($so_far) {
    $primary->freeze;
    next_second();
    is $nginx->get('/x', 'X-Key' => 'last')->status, 200, 'a request whose charge is lost';
    $primary->kill;
    my $line = qr/in doubt and not sent again \((\d+) in doubt so far\)/;
    $nginx->wait_log(qr/(?:.*$line){@{[1 + $so_far]}}/s);
    my ($count) = reverse $nginx->error_log =~ /$line/g;
    $primary->restart;
    return $count - 1;
}

$traffic->more(200);
for my $round (1 .. 3) {
    $primary->kill;
    $traffic->more(200)->is_served("primary killed, $round", %limit);
    my $before = $primary->restart->calls('hincrby');
    wait_until { $primary->calls('hincrby', 'evalsha') > $before } what => 'charges';
    $traffic->is_served("restarted, $round", %limit);
    next if $round == 3;
    next_second();
    my $lines = $nginx->count_log(qr/in doubt so far/);
    $primary->freeze;
    $traffic->more(200);
    wait_until { $round == 1 || $nginx->count_log(qr/in doubt so far/) > $lines } what => 'charge_timeout';
    $traffic->is_served("primary frozen, $round", %limit);
    $primary->thaw->forget_calls;
    wait_until { $primary->calls('hincrby', 'evalsha') > 0 } what => 'charges';
}
$traffic->stop;
my $last = -1;
wait_until {
    next_second();
    my $sum = sum0(values %{stored()});
    my $stable = $sum == $last;
    $last = $sum;
    $stable
} what => 'all charges that waited';
my %admitted;    # the last request is logged after its response
$admitted{$_->{key}}++ for grep { $_->{outcome} eq 'PASSED' } @{$traffic->since(0)};
my $admitted = sum0(values %admitted);
my $doubt = in_doubt($nginx->count_log(qr/in doubt so far/));
my $stored = stored();
my $sum    = sum0(values %$stored);
diag "$admitted admitted, $doubt in doubt, $sum stored";
cmp_ok $doubt, '>=', 1, 'some charges were under way';
cmp_ok $admitted - $doubt, '<=', $sum, 'admitted - in doubt <= stored';
cmp_ok $sum, '<=', $admitted, 'stored <= admitted';
is_deeply [grep { $stored->{$_} > $admitted{$_} } @keys], [], 'for each key';
$nginx->stop;
is $traffic->unanswered, 0, 'every request got a response';
is $nginx->count_log(qr/dropped|are lost|could not be checked/), 0, 'nothing else was lost';

done;
