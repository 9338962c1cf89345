# conf-examples/ip-burst-and-user-quota.conf: the address pays for every attempt, by a bucket, the verified user for what gets in.

use RateLimit::Test;
use Time::HiRes qw(time);

my $shards   = RateLimit::Shards->start(2, replicas => 1);
my $app      = RateLimit::Backend->start;
my $accounts = RateLimit::Backend->start(handler => sub ($req, $conn) {
    my ($user) = ($req->{headers}{authorization} // '') =~ /^Bearer good-(\w+)$/;
    return $user ? [204, ['X-User' => $user]] : [401];
});
my $nginx = start_example('ip-burst-and-user-quota', shards => $shards, app => $app,
    replace => {'10.0.2.1:8080' => $accounts->address});

my sub used ($user) { return $shards->used("rl:quota/3600:$user") }
my @mona = ('Authorization' => 'Bearer good-mona');

my $first = $nginx->get('/', @mona);
shows $first, 200, {resource => 'quota', limit => 5000, used => 1, remaining => 4999}, 'a user gets in, and sees the quota';
wait_until { used('mona') == 1 } what => 'the quota charged';
ok $shards->find('rl:burst/1b:127.0.0.1'), 'the bucket of the address pays, too';

is $nginx->get('/', 'Authorization' => 'Bearer wrong')->status, 401, 'a wrong password does not';
is used('mona'), 1, "mona's quota is not touched";

# Another user, over quota.
$_->cmd('HSET', 'rl:quota/3600:hubot', 'used', 5000, 'reset', (int(time) + 600) . '000') for $shards->primaries;
$shards->wait_synced;
shows $nginx->get('/', 'Authorization' => 'Bearer good-hubot'), 429, {resource => 'quota'},
    'a user over the quota is told which limit it was';
is $app->requests, 1, 'and does not reach the application';

# From a full bucket.
$_->flush for $shards->primaries;
my $other = start_example('ip-burst-and-user-quota', shards => $shards, app => $app, replace => {'10.0.2.1:8080' => $accounts->address});
my $http  = $other->http;
my ($begun, $wrong) = (monotonic(), 0);
++$wrong while $http->get('/', 'Authorization' => 'Bearer wrong')->status == 401 && $wrong < 1000;
cmp_ok $wrong, '>=', 20, 'twenty attempts at once';
cmp_ok $wrong, '<=', 20 + 2 * (monotonic() - $begun), '... and two more in each second since';
my $asked    = $accounts->requests;
my $rejected = wait_until { my $response = $http->get('/', @mona); $response->status == 429 && $response } what => 'a rejection';
shows $rejected, 429, {retry_after => 1}, 'then the burst is over, by the address';
cmp_ok $accounts->requests - $asked, '<=', 2 * (monotonic() - $begun), '... mostly without a question to the accounts service';

done;
