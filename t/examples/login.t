# conf-examples/login.conf: after five wrong passwords an address is out for an hour, on all machines, and no right one lets it in; who
# logs in with the right one is never out.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($request, $conn) { return $request->{body} eq 'right' ? [204] : [401] });
my @nginx  = map {
    start_example('login', shards => $shards, app => $app,
        replace => {'key=$rate_limit_addr ' => 'key=$http_x_address ', 'access_log /var/log/nginx/logins.log' => 'access_log %%DIR%%/logins'})
} 1 .. 2;
sub attempt ($nginx, $password, $address = 'a') { return $nginx->post('/login', $password, 'X-Address' => $address, 'X-Login-Account' => $address) }

is attempt($nginx[$_ % 2], 'right')->status, 204, "login $_" for 1 .. 8;
wait_until { !$shards->primary->cmd('EXISTS', 'rl:login/900:a') || !$shards->primary->hash('rl:login/900:a')->{used} } what => 'the costs to come back';
is attempt($nginx[0], 'wrong')->status, 401, "wrong password $_" for 1 .. 5;
my $rejected = attempt($nginx[0], 'right');
is $rejected->status, 429, 'the right one comes too late';
cmp_ok $rejected->header('Retry-After'), '>=', 3500, '... by an hour';
wait_until { $shards->primary->hash('rl:login/900:a')->{until} } what => 'the penalty in Redis';
$shards->wait_synced;
my $elsewhere = attempt($nginx[1], 'right');
is $elsewhere->status, 429, 'nor on the other machine';
cmp_ok $elsewhere->header('Retry-After'), '>=', 3500, '... for as long';
is attempt($nginx[1], 'right', 'b')->status, 204, 'another address may';
wait_until { read_text($nginx[0]->folder . '/logins') =~ /429 id=[0-9a-f]{16} penalty=3[56]\d\d$/m } what => 'the log of logins';
like $nginx[0]->error_log, qr/rate limit "login" begins a penalty of 3600 s, until \d+, id [0-9a-f]{16}/, 'the error log says so';

done;
