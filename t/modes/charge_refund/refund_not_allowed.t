# A Redis user that may charge and not give back, as one of before an upgrade: what is to be given back is lost, and told;
# charges go on. Nor does a key that the user may not use hold up others.

use RateLimit::Test;

my $may   = '-@all +ping +info +select +hmget +hget +hset +hincrby +pttl +pexpire +eval +evalsha +script|load';
my $redis = RateLimit::Redis->start(
    acl => ['user default on nopass ~* &* +@all', "user nginx on >secret ~rl:* resetchannels $may",
        "user part on >secret ~part:yes/* resetchannels $may"]);
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, 'check_timeout 9s; connect_timeout 9s; username nginx; password secret;')
        . redis_block('part', $redis, 'check_timeout 9s; connect_timeout 9s; username part; password secret; prefix part:;'),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; }
        location /free { rate_limit 1000r/h name=free mode=charge_refund exempt=200; }
        location /no { rate_limit 1000r/h name=no store=part; } location /yes { rate_limit 1000r/h name=yes store=part; }',
);
my sub ask ($uri, $key) { return outcome($nginx->get($uri, 'X-Key' => $key)) }

is ask('/free', "k$_"), '200 PASSED', 'a response that is free' for 1 .. 20;
$nginx->wait_log(qr/answered refund\.lua: "ERR [^"]* script|charges for .* were dropped: noperm/);
is ask('/x', "k$_"), '200 PASSED', 'one that is not' for 1 .. 20;
wait_until { !grep { $redis->used("k$_") != 1 } 1 .. 20 } what => 'their charges';
is $nginx->count_log(qr/refuses charges/), 0, 'charges never waited';
wait_until { $nginx->count_log(qr/were dropped: noperm: .*\(20 dropped so far\)/) } what => 'what was not given back to be told';

is ask('/no', 'k'), '503 ERROR_DENIED', 'a key that the user may not use';
is ask('/yes', "k$_"), '200 PASSED', 'another one' for 1 .. 5;
wait_until { !grep { ($redis->hash("part:yes/3600:k$_")->{used} // 0) != 1 } 1 .. 5 } what => 'its charges';
$nginx->wait_log(qr/answered HMGET: "NOPERM [^"]*keys?[^"]*": another error/);
is $nginx->count_log(qr/refuses charges|does not serve|is down/), 0, 'nothing else is refused';
$nginx->stop;

done;
