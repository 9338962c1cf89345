# A reset admits the next request also where replicas have not heard of it: what the primary has just said stands for a check. Now and then a request checks
# all the same.

use RateLimit::Test;
use JSON::PP;

my $reset   = (time + 3000) . '000';
my $primary = RateLimit::Redis->start;
my $replica = RateLimit::FakeRedis->start(handler => reading(5, $reset));
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', [$primary, $replica]) . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h name=core store=main; }',
);
my sub get ($key) { return $nginx->get('/x', 'X-Key' => $key)->status }

my $admitted = 0;
for my $key (map { "key$_" } 1 .. 20) {
    $primary->hold_only("rl:core/3600:$key", 3_000_000, used => 5, reset => $reset);
    is get($key), 429, "$key is at its limit" if $key =~ /[02468]$/;
    is $nginx->post('/limits/key', "do=reset&key=$key&limit=core", 'Content-Type' => 'application/x-www-form-urlencoded')->status, 200, "$key is reset";
    $admitted++ if get($key) == 200;
}
cmp_ok $admitted, '>=', 18, 'and admitted, though the replica says otherwise';

done;
