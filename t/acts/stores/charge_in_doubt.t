# A charge that is in doubt when its window is reset stays in doubt: it is told as that, is not sent again, neither by the reset nor after it, and the window is
# what the primary says. So it is whether the primary had taken it or not.

use RateLimit::Test;
use JSON::PP;

my $reset = (time + 3000) . '000';
my $used  = 0;

# The others are of refunds, and of windows that may lack an end.
my sub is_charge ($words) { return $words->[0] eq 'hincrby' || ($words->[0] =~ /^eval/ && ($words->[6] // '') ne 'keep' && $words->[4] < 1e6) }
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return hmget($used, $reset) if $command eq 'hmget';
    return fallback($words) if $command !~ /^(?:eval|hincrby)/;
    if (($words->[6] // '') eq 'keep') {
        $used = 0;
        return array(integer(0), integer($reset));
    }
    return array(integer($used), integer($reset)) if !is_charge($words);
    my $dies = $conn->state('dies');
    $used++ if !$dies || $dies eq 'after';
    return $conn->close(1) if $dies;
    return $command eq 'hincrby' ? integer($used) : array(integer($used), integer($reset));
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('fake', $fake) . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 9r/h name=core store=fake; }',
);
my sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }
my sub charges () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{writes}{charge} }
my sub sent () { return scalar grep { is_charge($_) } $fake->writes }
my sub in_step ($what) {
    my $shown;
    wait_until { my $response = post('key=a&limit=core'); $response->status == 200 && ($shown = decode_json($response->body)) } what => $what;
    return $shown->{windows}[0];
}

is $nginx->get('/x', 'X-Key' => 'a')->status, 200, 'a request';
wait_until { charges()->{stored} == 1 } what => 'its charge';
my ($sent, $in_doubt) = (1, 0);
for my $dies (qw(before after)) {
    $fake->set(dies => $dies);
    is $nginx->get('/x', 'X-Key' => 'a')->status, 200, "one whose primary goes $dies it has taken the charge";
    wait_until { charges()->{in_doubt} == $in_doubt + 1 } what => 'its charge to be in doubt';
    ++$in_doubt;
    is sent(), ++$sent, '... which was sent once';
    $fake->set(dies => '');
    is in_step('the primary to be back')->{waiting}, 0, '... and does not wait';

    my $response = post('do=reset&key=a&limit=core');
    is $response->status, 200, 'a reset' or diag $response->body;
    is decode_json($response->body)->{windows}[0]{used}, 0, '... gives all back';
    is_deeply [sent(), @{charges()}{qw(in_doubt dropped)}], [$sent, $in_doubt, 0], '... and sends nothing again';
    is $nginx->get('/x', 'X-Key' => 'a')->status, 200, 'the next request';
    wait_until { in_step('its charge')->{used} == 1 } what => 'its charge';
    is sent(), ++$sent, '... is the only one that is sent then';
    is charges()->{in_doubt}, $in_doubt, '... and what was in doubt stays it';
}

done;
