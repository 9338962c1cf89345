# conf-examples/ip-burst-and-user-quota.conf: the address pays for every attempt, the verified user for what gets in.

use RateLimit::Test;

my $shards   = RateLimit::Shards->start(2, replicas => 1);
my $app      = RateLimit::Backend->start;
my $accounts = RateLimit::Backend->start(handler => sub ($req, $conn) {
    my ($user) = ($req->{headers}{authorization} // '') =~ /^Bearer good-(\w+)$/;
    return $user ? [204, ['X-User' => $user]] : [401];
});
my $nginx = start_example('ip-burst-and-user-quota', shards => $shards, app => $app,
    replace => {'10.0.2.1:8080' => $accounts->address});

sub used ($key) { return $shards->used($key) }
my $address = 'rl:burst/10:127.0.0.1';

is $nginx->get('/', 'Authorization' => 'Bearer good-mona')->status, 200, 'a user gets in';
wait_until { used($address) == 1 && used('rl:quota/3600:mona') == 1 } what => 'both windows charged';

is $nginx->get('/', 'Authorization' => 'Bearer wrong')->status, 401, 'a wrong password does not';
wait_until { used($address) == 2 } what => 'the attempt in the burst limit';
is used('rl:quota/3600:mona'), 1, "mona's quota is not touched";

# Another user, over quota.
$_->cmd('HSET', 'rl:quota/3600:hubot', 'used', 5000, 'reset', (time + 600) . '000') for $shards->primaries;
$shards->wait_synced;
shows $nginx->get('/', 'Authorization' => 'Bearer good-hubot'), 429, {resource => 'quota'},
    'a user over the quota is told which limit it was';
is $app->requests, 1, 'and does not reach the application';

my $http = $nginx->http;
$http->get('/', 'Authorization' => 'Bearer wrong') for 3 .. 20;
wait_until { used($address) == 20 } what => '20 attempts';
$shards->wait_synced;
my $asked = $accounts->requests;
my $rejected = $nginx->get('/', 'Authorization' => 'Bearer good-mona');
shows $rejected, 429, {resource => 'burst'}, 'the burst is over, by the address';
cmp_ok limits($rejected)->{retry_after}, '<=', 10, 'for a few seconds';
is scalar($accounts->requests), $asked, 'without a question to the accounts service';

done;
