# A shared override that the primary was sent and did not confirm is answered with 503 InDoubt, is not sent again, and is logged with what was to be done.

use RateLimit::Test;
use JSON::PP;

my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $conn->hold('gate', array(integer(1), integer(0))) if $words->[0] =~ /^eval/;
    return $words->[0] eq 'hmget' ? hmget((undef) x (@$words - 2)) : $words->[0] eq 'hgetall' ? array() : fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $fake, 'overrides shared; check_timeout 300ms;') . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/h store=main exempt=200; }',
);
my sub act ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }

my $line = qr/\[notice\].* rate limit "default" of "main", id [0-9a-f]{16}: override/;
for my $case (
    ['do=ban&limit=default&key=a&for=100s', 'ban for 100 s, in doubt whether it was done, before: none'],
    ['do=clear&limit=default&key=a', 'none, in doubt whether it was done, before: none'],
) {
    my ($body, $said) = @$case;
    my $writes = $fake->writes;
    my $refused;
    wait_until { ($refused = act($body))->status == 503 && decode_json($refused->body)->{error} eq 'InDoubt' } what => 'no answer to the write';
    $nginx->wait_log(qr/$line: \Q$said\E, by the console/);
    is $fake->writes, $writes + 1, 'it was sent once';
    is $nginx->get('/x', 'X-Key' => 'a')->status, 200, '... and does not hold here';
    $fake->release('gate');
}
done;
