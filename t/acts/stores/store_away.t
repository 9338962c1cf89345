# With the primary away an act says so and does nothing; one that was sent and not answered is in doubt, is not sent again, and is logged. No act waits for
# longer than check_timeout for an answer.

use RateLimit::Test;
use JSON::PP;

my $reset = (time + 3000) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    if ($command =~ /^eval/) {
        return $conn->close(1) if $conn->state('dies');
        return $conn->hold('gate', array(integer(0), integer($reset))) if $conn->state('mute');
        return error($conn->state('refuses')) if $conn->state('refuses');
        return array(integer(0), integer(0)) if $conn->state('changed');
        return array(integer(0), integer($reset));
    }
    return fallback($words) if $command ne 'hmget';
    return $conn->hold('gate', hmget(3, $reset)) if $conn->state('deaf');
    return hmget(3, $reset);
});
my $gone  = free_port();
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('fake', $fake, 'check_timeout 1s;') . "rate_limit_redis gone { shard a primary=127.0.0.1:$gone; } rate_limit_key k;",
    server => 'location /limits/ { rate_limit_console manage; } location /fake { rate_limit 5r/h name=fake store=fake; } location /gone { rate_limit 5r/h name=gone store=gone; }
        location /mine { rate_limit 5r/h name=mine; }',
);
my sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }
my sub fails ($body, $status, $code, $description, $what) {
    my $response = post($body);
    is $response->status, $status, $what;
    my $error = decode_json($response->body);
    is $error->{error}, $code, "... $code" or diag $response->body;
    like $error->{description}, $description, '... and why';
    return;
}
my sub writes () { return scalar grep { $_->[0] =~ /^eval/ && @$_ == 7 } $fake->commands }

for my $act ('', 'do=reset&', 'do=add&cost=1&') {
    fails($act . 'key=a&limit=gone', 503, 'StoreUnavailable', qr/"gone" cannot be asked: the primary of the shard is not up\. Nothing was done/, "without a primary: $act");
}
fails('key=a', 503, 'StoreUnavailable', qr/"gone"/, 'looking up all, one of which is away');
is post('key=a&store=fake')->status, 200, '... but another store is told';

is post('do=reset&key=a&limit=fake')->status, 200, 'a reset';
is writes(), 1, 'one write';
$fake->set(deaf => 1);
fails('do=reset&key=a&limit=fake', 503, 'StoreUnavailable', qr/no answer in check_timeout\. Nothing was done/, 'no answer to the question');
is writes(), 1, '... and nothing was written';
$fake->release('gate');
$fake->set(deaf => '');
$fake->set(mute => 1);
wait_until { post('key=a&limit=fake')->status == 200 } what => 'the store to be up';
fails('do=reset&key=a&limit=fake', 503, 'InDoubt', qr/no answer in check_timeout\. It is not asked again/, 'no answer to the write');
$nginx->wait_log(qr/"fake" of "fake", id [0-9a-f]{16}: reset in 3600 s: 3 used, in doubt whether it was done, by the console/);
is writes(), 2, '... of which there was one';
$fake->set(mute => '');
$fake->set(dies => 1);
$fake->release('gate');
wait_until { post('key=a&limit=fake')->status == 200 } what => 'the store to be up';
my $before = writes();
fails('do=add&cost=2&key=a&limit=fake', 503, 'InDoubt', qr/the primary did not answer\. It is not asked again/, 'the primary dies after the question');
$nginx->wait_log(qr/2 given back in 3600 s: 3 used, in doubt whether it was done/);
$fake->set(dies => '');
wait_until { post('key=a&limit=fake')->status == 200 } what => 'the store to be up';
is writes(), $before + 1, '... and there was no second try';
for my $words ('NOPERM no', 'READONLY no', 'OOM no', 'ERR no') {
    $fake->set(refuses => $words);
    fails('do=reset&key=a&limit=fake', 503, 'StoreUnavailable', qr/Nothing was done/, "the primary says $words");
    $fake->set(refuses => '');
    wait_until { post('do=reset&key=a&limit=fake')->status == 200 } what => 'the store to take writes';
}
$before = writes();
$fake->set(changed => 1);
fails('do=reset&key=a&limit=fake', 409, 'Conflict', qr/changed twice/, 'the window is another one each time');
is writes(), $before + 2, '... after two tries';
$fake->set(changed => '');
is post('do=reset&key=a&limit=mine')->status, 200, 'a local limit needs no store';

done;
