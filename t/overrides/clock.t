# A clock that is set back by an hour lets no override live longer than its time by more than that hour; one that is set forward ends it.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    clock  => 1, workers => 2, reuseport => 1, http => 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/d; }',
);
my sub ban ($key) {
    is $nginx->act("do=ban&limit=default&for=10m&key=$key")->status, 200, "$key is banned";
}
my sub settled ($key) { return join ' ', sort { $a <=> $b } keys %{statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. 8)} }

ban('a');
$nginx->travel('-3600s');
is settled('a'), 429, 'back by an hour: it still holds';
ban('b');
$nginx->travel('-3010s');
is settled($_), 429, "$_ holds" for 'a', 'b';
$nginx->travel('-2990s');
wait_until { settled('b') eq '200' } what => 'the end of what was set then, ten minutes from then';
is settled('a'), 429, 'the one of before holds';
$nginx->travel('+590s');
is settled('a'), 429, '... until its own time';
$nginx->travel('+601s');
wait_until { settled('a') eq '200' } what => 'its end';
ban('c');
$nginx->travel('+7200s');
wait_until { settled('c') eq '200' } what => 'the end of an override when the clock is set forward';
done;
