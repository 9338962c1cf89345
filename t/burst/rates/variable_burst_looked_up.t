# An operator finds the bucket of a key whose burst a variable says, as the largest of the plans that share it has it; and a window,
# where the variable was empty.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => redis_block('main', $redis) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; }
        location /redis { rate_limit 1r/h burst=$arg_b name=redis store=main; }
        location /local { rate_limit $arg_r burst=$arg_b name=local; }',
);
my sub post ($body) {
    my $response = $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded');
    return $response->status == 200 ? decode_json($response->body) : $response->body;
}
my sub windows ($key, $limit) {
    return [sort map { "$_->{window} $_->{used}/$_->{limit}" } @{post("key=$key&limit=$limit")->{windows}}];
}

for my $limit (qw(redis local)) {
    is_deeply windows('a', $limit), [], "$limit: nothing is known yet";
    is $nginx->get("/$limit?r=1r/h&b=20", 'X-Key' => 'a')->status, 200, "$limit: a bucket of 20" for 1 .. 3;
    is_deeply windows('a', $limit), ['bucket 3/20'], "$limit: is found" for 1 .. 4;
    is $nginx->get("/$limit?r=1r/h&b=50", 'X-Key' => 'a')->status, 200, "$limit: a larger plan";
    is_deeply windows('a', $limit), ['bucket 4/50'], "$limit: its bucket is the same";
    is $nginx->get("/$limit?r=1r/h&b=", 'X-Key' => 'b')->status, 200, "$limit: no burst";
    is_deeply windows('b', $limit), ['first 1/1'], "$limit: a window";
    is ref post("do=reset&key=a&limit=$limit"), 'HASH', "$limit: a reset";
    is limits($nginx->get("/$limit?r=1r/h&b=50", 'X-Key' => 'a'))->{remaining}, 49, "$limit: fills it";
}

done;
