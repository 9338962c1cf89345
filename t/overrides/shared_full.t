# A shared override for which this machine has no room is refused with 409, before anything is written: the other machines have none of it either. One that
# is there can be replaced, and where one ends there is room again. A thousand is the most in a store.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my @form  = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub machine ($zone) {
    return RateLimit::Nginx->start(
        http   => redis_block('main', $redis, 'overrides shared; ' . timeouts('9s')) . "rate_limit_key \$http_x_key; rate_limit_zone $zone;",
        server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/h store=main; }
            location /own/ { alias %%DIR%%/html/; rate_limit 5r/h name=own; }');
}
my ($small, $large) = map { machine($_) } '128k', '10m';
my sub act ($nginx, $body) { return $nginx->post('/limits/key', $body, @form) }
my sub stored () { return $redis->hash('rl:!overrides') }

is act($small, 'do=ban&limit=own&key=o')->status, 200, 'one of this machine';
is_deeply statuses(map { act($small, "do=ban&limit=default&key=k$_") } 1 .. 15), {200 => 15}, 'as many shared ones as there is room for';
my $before  = stored();
my $refused = act($small, 'do=ban&limit=default&key=k16');
is $refused->status, 409, 'one more is refused';
is decode_json($refused->body)->{error}, 'Full', '... as Full';
is_deeply stored(), $before, '... and nothing was written';
is act($small, 'do=allow&limit=default&key=k3')->status, 200, 'one that is there is replaced';
is act($small, 'do=clear&limit=default&key=k1')->status, 200, 'where one ends';
is act($small, 'do=ban&limit=default&key=k16')->status, 200, '... there is room again';
is $small->get('/x', 'X-Key' => 'k16')->status, 429, '... and it holds';
is $small->get('/own/x', 'X-Key' => 'o')->status, 429, 'that of the machine, too';

is act($large, 'do=ban&limit=default&key=k17')->status, 200, 'another machine has room for more';
$small->wait_log(qr/\[error\].* 1 of the overrides that machines share by "rate_limit_redis main" do not hold here: there is no room/);

my ($until, $from) = ((time + 3600) . '000', time . '000');
$redis->cmd('HSET', 'rl:!overrides', 'version', 8_000_000_000_000, map { ("default/:k$_", "1 ban 0 $from $until 127.0.0.1") } 1 .. 1000);
wait_until { $large->get('/x', 'X-Key' => 'k1000')->status == 429 } what => 'a thousand';
$before = stored();
is act($large, 'do=ban&limit=default&key=k1001')->status, 409, 'the thousand and first';
is_deeply stored(), $before, '... changes nothing';
is act($large, 'do=allow&limit=default&key=k1000')->status, 200, 'one that is there is replaced';
is $large->get('/x', 'X-Key' => 'k1000')->status, 200, '... and holds';
$small->expect_log(qr/no room for them/);
done;
