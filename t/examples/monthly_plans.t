# conf-examples/monthly-plans.conf: what a customer has for a month of the calendar begins anew with the next, and a bucket beside it keeps
# anybody from sending that at once.

use RateLimit::Test;
use JSON::PP;
use Time::Local qw(timegm);

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example('monthly-plans', shards => $shards, app => $app, nginx => {clock => 1});

# The clock of nginx: in the middle of a July. Buckets go by that of Redis, which is real.
my $year = 1901 + (gmtime)[5];
my sub stand_in ($month) { return $nginx->stand_at(timegm(0, 0, 12, 15, $month - 1, $year)) }
my sub report (@headers) { return decode_json($nginx->get('/rate_limit', @headers)->body)->{resources} }
my %limits = (mona => [10_000, 10], hubot => [100_000, 100]);
my $august = timegm(0, 0, 0, 1, 7, $year);
stand_in(7);

for my $customer (sort keys %limits) {
    my @key = ('X-API-Key' => "k-$customer");
    shows $nginx->get('/', @key), 200, {resource => 'month', limit => $limits{$customer}[0], used => 1}, "$customer: the month of the plan is shown";
    wait_until { $shards->used("rl:month/monthc:user:$customer") == 1 } what => 'the month charged';
    my $report = report(@key);
    is_deeply $report->{month}, {limit => $limits{$customer}[0], used => 1, remaining => $limits{$customer}[0] - 1, reset => $august}, '... and a month until August';
    is $report->{smooth}{limit}, $limits{$customer}[1], '... beside the bucket';
}
is_deeply [sort keys %{report()}], ['smooth'], 'nobody has no month';
my $nobody = $nginx->get('/', 'X-API-Key' => 'made-up');
ok !defined limits($nobody)->{limit}, '... and nothing to be shown';
is report('X-API-Key' => 'made-up')->{smooth}{limit}, 5, '... but a small bucket';

my $http = $nginx->http;
my @at_once = map { $http->get('/', 'X-API-Key' => 'k-mona') } 1 .. 30;
my ($refused) = grep { $_->status == 429 } @at_once;
shows $refused, 429, {resource => 'month', limit => 10_000, retry_after => 1}, 'not the whole month at once';
my $passed = 1 + grep { $_->status == 200 } @at_once;
wait_until { $shards->used('rl:month/monthc:user:mona') == $passed } what => 'the month: only what has passed';
is $nginx->get("/$_", 'X-API-Key' => 'k-hubot')->status, $_, "the application answers $_" for 304, 404, 500, 502, 503, 504;
wait_until { $shards->used('rl:month/monthc:user:hubot') == 2 } what => 'the month: of these only the 404';
$http->close;

# A month that is used up but for one.
$_->cmd('HSET', 'rl:month/monthc:user:hubot', 'used', 99_999, 'reset', "${august}000") for $shards->primaries;
$shards->wait_synced;
is $nginx->get('/', 'X-API-Key' => 'k-hubot')->status, 200, 'the last one of a month';
# Until its answer, what the primary told before stands for a check: nginx's clock stands still.
wait_until { max(map { $_->hash('rl:month/monthc:user:hubot')->{used} } $shards->primaries) == 100_000 } what => 'its charge';
wait_until { $nginx->get('/', 'X-API-Key' => 'k-hubot')->status == 429 } what => 'the end of a month';
my $over = $nginx->get('/', 'X-API-Key' => 'k-hubot');
shows $over, 429, {resource => 'month', limit => 100_000, used => 100_000, remaining => 0, reset => $august}, 'no more in July';
is limits($over)->{retry_after}, $august - timegm(0, 0, 12, 15, 6, $year), '... as Retry-After says';
stand_in(8);
wait_until { $nginx->get('/', 'X-API-Key' => 'k-hubot')->status == 200 } what => 'August';
is report('X-API-Key' => 'k-hubot')->{month}{used}, 1, '... is another month';

done;
