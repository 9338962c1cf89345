# A primary's answer to a reset that makes no sense leaves open what it did: InDoubt, and no second try.

use RateLimit::Test;
use JSON::PP;

my $reset = (time + 3000) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command) = @$words;
    return hmget(3, $reset) if $command eq 'hmget';
    return fallback($words) if $command !~ /^eval/;
    my %answers = (nil => nil(), empty => array(), number => integer(3), words => array(bulk('x'), bulk('y')));
    return $answers{$conn->state('says') // 'nil'};
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('fake', $fake) . 'rate_limit_key k;',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h store=fake; }',
);
my sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }
wait_until { post('key=k&limit=default')->status == 200 } what => 'the store to be up';

for my $says (qw(nil empty number words)) {
    $fake->set(says => $says);
    my $before = grep { $_->[0] =~ /^eval/ } $fake->commands;
    my $answer = post('do=reset&key=k&limit=default');
    is $answer->status, 503, "$says: 503";
    is decode_json($answer->body)->{error}, 'InDoubt', "$says: in doubt";
    is scalar(grep { $_->[0] =~ /^eval/ } $fake->commands), $before + 1, "$says: asked once";
}
$nginx->expect_log(qr{rate limit});

done;
