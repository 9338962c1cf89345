# docs/redis.md: the user that it shows may do all that the module asks for, and is given nothing that the module does not use.

use RateLimit::Test;

my ($acl) = code(project_file('docs/redis.md'), 'acl') =~ /^(user nginx .*)$/m;
my @granted = $acl =~ / \+([\w|]+)/g;
my $shards = RateLimit::Shards->start(1, replicas => 1, redis => {acl => [$acl]});
my ($primary, $replica) = ($shards->primary, $shards->replica);
my $app = RateLimit::Backend->start;

# The counts begin here, so that they have the commands that nginx sends as soon as it starts. Until the first INFO the test itself
# sends in database 1 no command that the user is granted.
$_->cmd('SELECT', 1) for $shards->all;
$shards->forget_calls;
my $nginx = RateLimit::Nginx->start(
    http   => $shards->block('main', 'username nginx; password secret; database 1; ' . timeouts('9s')),
    server => 'location / { rate_limit 100r/h store=main key=$http_x_key; proxy_pass http://' . $app->address . '; }
        location /reserved { alias %%DIR%%/html/x; rate_limit 100r/h name=r store=main key=$http_x_key mode=charge_refund cost=$arg_c; }
        location /bucket { alias %%DIR%%/html/x; rate_limit 1r/s burst=999 name=b store=main key=$http_x_key; }
        location /out { rate_limit 1r/h name=out store=main key=$http_x_key penalty=1h; }
        location /slots { rate_limit_concurrency 9 store=main key=$http_x_key; proxy_pass http://' . $app->address . '; }',
);
my $key = 'rl:default/3600:k';
sub used () { return $primary->hash($key)->{used} // 0 }

my @client = ('X-Key' => 'k');

is $nginx->get('/', @client)->status, 200, 'a new window: the script';
wait_until { used() == 1 } what => 'the charge';
$nginx->get('/reserved?c=2', @client);
is $nginx->get('/reserved?c=3', @client, 'If-None-Match' => '*')->status, 304, 'what was reserved comes back';
wait_until { $primary->hash('rl:r/3600:k')->{used} == 2 } what => 'the refund';
$nginx->get('/reserved', 'X-Key' => 'none', 'If-None-Match' => '*');
wait_until { !$primary->cmd('EXISTS', 'rl:r/3600:none') && $primary->calls('del') } what => 'the window that was never opened';
wait_until { $nginx->get('/bucket', @client); $primary->calls('bitfield') } what => 'a plain command for a bucket, whose clock is known well enough';
wait_until { $nginx->get('/out', @client)->status == 429 && $primary->hash('rl:out/3600:k')->{until} } what => 'a penalty';
is $nginx->get('/slots', @client)->status, 200, 'a slot';
wait_until { !$primary->cmd('EXISTS', 'rl:concurrency/n:k') } what => 'the slot to go back';
my %called = map { /^cmdstat_([\w|]+)$/ ? ($1 => 1) : () } keys %{$primary->info('commandstats')};
$shards->wait_synced;
let_connections_age();
is limits($nginx->get('/', @client))->{used}, 2, 'the window was read';
wait_until { used() == 2 } what => 'a plain increment';
$shards->wait_synced;

# The window goes while a request that has seen it is under way: its increment makes the key anew, and repairs it.
my $http = $nginx->reach($app, '/slow', @client);
$primary->cmd('DEL', $key);
$app->release('gate');
is $http->response->status, 200, 'a request that found its window gone at its end';
wait_until { $primary->hash($key)->{reset} } what => 'the repair';

$primary->cmd('SCRIPT', 'FLUSH');
is $nginx->get('/', 'X-Key' => 'other')->status, 200, 'a new window, when the scripts are gone: their text';
wait_until { $primary->hash('rl:default/3600:other')->{used} } what => 'its charge';
$nginx->stop;

for my $node ($primary, $replica) {
    is_deeply $node->cmd('ACL', 'LOG'), [], $node == $primary ? 'the primary refused nothing' : 'nor did the replica';
}
$called{$_} = $primary->calls($_) for grep { !/^(?:ping|info|select|script.load)$/ } @granted;
is_deeply [grep { !$called{$_} } @granted], [], 'all that is granted is used';
unlike $nginx->error_log, qr/rate limit: /, 'nothing is logged';

done;
