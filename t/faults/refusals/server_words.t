# The log gives the server's own words where a user may not do something, and names the command; a user that may not
# charge has its charges wait, and never turns a window back. No line has a client's key, though servers repeat it.

use RateLimit::Test;

my $may   = '-@all +ping +info +select +hmget +hget +hset +hincrby +pttl +pexpire +eval +evalsha +script|load';
my @users = (
    ['no-hset', "$may -hset"], ['no-hincrby', "$may -hincrby"], ['no-hmget', "$may -hmget"], ['no-ping', "$may -ping"]);
my $redis = RateLimit::Redis->start(
    acl => ['user default on nopass ~* &* +@all', map { "user $_->[0] on >secret ~rl:* resetchannels $_->[1]" } @users]);
my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] eq 'ping';
    return error("ERR unknown command '$words->[0]', with args beginning with: '" . join("' '", map { s{\s+}{ }gr } @$words[1 .. $#$words]) . "'");
});
my @stores = map { $_->[0] } @users;
my $nginx = RateLimit::Nginx->start(
    http => join('', map { redis_block($_, $redis, "prefix rl:$_:; username $_; password secret; check_timeout 9s;") } @stores)
        . redis_block('wrong', $redis, 'username no-hset; password no;') . redis_block('odd', $fake),
    server => 'rate_limit_key $http_x_key; rate_limit_store $http_x_store; rate_limit 1000r/h; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; location / {}',
);
my sub ask ($store) { return outcome($nginx->get('/x', 'X-Key' => 'mona', 'X-Store' => $store)) }
# Returns what the server says to that user: its words change with its version. The error of a script continues with its
# digest and line, which are cut off.
my sub said_to ($user, @command) {
    my $client = bless {port => $redis->port}, 'RateLimit::Redis';
    $client->cmd('AUTH', $user, 'secret');
    return $client->ask(@command) =~ s/^(.*) script: .*/$1/r;
}
my sub said ($before, $words, $what) {
    $nginx->wait_log(qr/of $before: "\Q$words\E/);
    pass "$what: $words";
}
my $window = 'default/3600:mona';

$redis->cmd('HSET', "rl:no-hincrby:$window", used => 41, reset => (time + 1800) . '000');
$nginx->get('/x', 'X-Key' => 'first', 'X-Store' => 'no-hincrby');
let_connections_age();
is ask($_), '200 PASSED', "$_: checks go on" for qw(no-hset no-hincrby) x 3;
said qr/"no-hset" refuses charges: noperm: .*\(charge\.lua/,
    said_to('no-hset', 'EVAL', "return redis.call('hset', KEYS[1], 'used', 1)", 1, "rl:no-hset:$window"), 'a command within a script';
said qr/"no-hincrby" refuses charges: noperm: .*\(HINCRBY/, said_to('no-hincrby', 'HINCRBY', "rl:no-hincrby:$window", 'used', 1),
    'a command';
is $redis->hash("rl:no-hincrby:$window")->{used}, 41, 'the window is not set back';
is_deeply $redis->hash("rl:no-hset:$window"), {}, 'nothing is stored';

is ask('no-hmget'), '503 ERROR_DENIED', 'checks that are not allowed';
said qr/"no-hmget" answered HMGET/, said_to('no-hmget', 'HMGET', "rl:no-hmget:$window", 'used'), 'HMGET';

is ask('no-ping'), '503 ERROR_DENIED', 'no PING';
said qr/"no-ping" does not serve: noperm: .*\(PING/, said_to('no-ping', 'PING'), 'PING';
is ask('wrong'), '503 ERROR_DENIED', 'a wrong password';
said qr/"wrong" is down: auth: .*\(AUTH/, said_to('no-hset', 'AUTH', 'no-hset', 'no'), 'AUTH';
is ask('odd'), '503 ERROR_DENIED', 'a server without HMGET';
said qr/"odd" answered HMGET/, "ERR unknown command 'hmget'\": another error", 'a command that is not known';

$redis->cmd(qw(ACL SETUSER no-hset +hset));
wait_until { ($redis->hash("rl:no-hset:$window")->{used} // 0) == 3 } what => 'what waited';
$nginx->wait_log(qr/of "no-hset" takes charges again/);
$nginx->stop;
is $nginx->count_log(qr/mona/), 0, 'no line has the key';

done;
