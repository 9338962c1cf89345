# After a reload the workers of before may still hear of overrides that machines share: what they hear late ends none that is newer, and what they
# set themselves holds.

use RateLimit::Test;
use JSON::PP;

my $now   = int(time * 1000);
my $until = $now + 3_600_000;
my %stored = (version => $now + 1, 'default/:old' => "1 ban 0 $now $until x");
my $told   = '';
my $fake   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    my $has = $conn->state('has') // '';
    ($told, %stored) = ($has, split /;/, $has) if $has ne $told;
    return hmget($stored{version}) if $command eq 'hmget' && $arguments[0] =~ /!overrides/;
    if ($command eq 'hgetall') {
        my $answer = hmget(%stored);
        return $has ? $answer : $conn->hold('look', $answer);
    }
    if ($command =~ /^eval/ && "@arguments[0 .. 2]" =~ /!overrides/) {
        ++$stored{version};
        $stored{$arguments[6]} = $arguments[7];
        my $answer = hmget(%stored);
        return $arguments[6] =~ /:first\z/ ? $conn->hold('write', $answer) : $answer;
    }
    return hmget(undef, undef)                if $command eq 'hmget';
    return array(integer(1), integer($until)) if $command =~ /^eval/;
    return fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    workers => 1,
    http    => redis_block('main', $fake, 'overrides shared; check_timeout 8s; charge_timeout 30s;') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage keys=plain; } location / { rate_limit 1000r/h store=main; }',
);
my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub overrides () {
    return join ' ', sort map { "$_->{kind} $_->{key}" } @{decode_json($nginx->get('/limits/json')->body)->{overrides}};
}

wait_until { $fake->commands('hgetall') } what => 'a look at the whole';
my $keeps = $nginx->http;    # a request that is under way keeps the old worker
$keeps->send("POST /limits/key HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\nke");
wait_until { decode_json($nginx->get('/limits/json')->body)->{workers} } what => 'the console';
my $newer = $now + 2;
$fake->set(has => "version;$newer;default/:new;1 ban 0 $now $until x");
$nginx->reload;
wait_until { overrides() eq 'ban new' } what => 'the new worker to take up what is newer';
$fake->release('look');
my $turns = $fake->commands('hmget');
wait_until { $fake->commands('hmget') > $turns + 4 } what => 'some looks';
is overrides(), 'ban new', 'what the old worker hears late ends nothing';
$keeps->close;

$fake->set(has => 'version;' . ++$newer);
wait_until { overrides() eq '' } what => 'all to be ended';
my $old = $nginx->http;
$old->start_request('POST', '/limits/key', [@form], 'do=ban&limit=default&key=first');
wait_until { grep { "@$_" =~ /:first/ } $fake->writes } what => 'its write';
$nginx->reload;
is $nginx->post('/limits/key', 'do=ban&limit=default&key=second', @form)->status, 200, 'another one is set by the new worker';
$fake->release('write');
is $old->response->status, 200, 'the old worker answers';
$turns = $fake->commands('hmget');
wait_until { $fake->commands('hmget') > $turns + 4 } what => 'some looks';
is overrides(), 'ban first ban second', 'both hold';
is $nginx->get('/x', 'X-Key' => 'second')->status, 429, 'and reject';

done;
