# A Redis whose EVALSHA and EVAL are renamed away is told as what it is, with what to do. Checks go on; what takes a script is decided by
# rate_limit_on_error.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(args => ['--rename-command', 'EVALSHA', '', '--rename-command', 'EVAL', '']);
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, timeouts('9s')),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /lease { rate_limit 1000r/h name=l mode=lease; } location /burst { rate_limit 10r/h burst=100 name=b mode=charge_refund; }',
);
my sub ask ($uri, $key = 'k') { return outcome($nginx->get($uri, 'X-Key' => $key)) }
my $remedy = qr/nolua: it runs no Lua scripts, by which all is charged: use a server that is built with Lua, and rename neither EVAL nor EVALSHA/;

is_deeply [map { ask('/x', $_) } 'a' .. 'e', 'a'], [('200 PASSED') x 6], 'checks go on';
$nginx->wait_log(qr/primary \S+ of "main" refuses charges: $remedy \(charge\.lua: "/);
is ask($_), '503 ERROR_DENIED', "$_ goes by rate_limit_on_error" for '/reserve', '/lease', '/burst';
$nginx->wait_log(qr/could not be \w+: $remedy/);
is $nginx->count_log(qr/were dropped|are lost|in doubt/), 0, 'no charge is lost';
$nginx->stop;

done;
