# When the primary says that a window is gone or lower, as after an act of an operator, nginx does not believe an answer that is older than
# a charge from here.

use RateLimit::Test;

my $reset = (time + 3000) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words;
    if ($command =~ /^(?:eval|hincrby)/) {
        my $answer = $command eq 'hincrby' ? integer(4) : array(integer(4), integer($reset));
        return $conn->state('slow') ? $conn->hold('charge', $answer) : $answer;
    }
    return fallback($words) if $command ne 'hmget';
    return hmget(3, $reset) if $conn->state('used');
    return $conn->hold('gate', hmget(undef, undef));
});
my $replica = RateLimit::FakeRedis->start(handler => reading(3, $reset));
$fake->set(used => 1);
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => redis_block('fake', [$fake, $replica], 'check_timeout 20s;') . '
        rate_limit_key $http_x_key; add_header X-Worker $pid always;',
    server => 'location / { }
        location /few { rate_limit 3r/h name=fake store=fake; }
        location /many { rate_limit 90r/h name=fake store=fake; }',
);

is_deeply statuses(map { $nginx->get('/few', 'X-Key' => $_) } qw(one two three)), {429 => 3}, 'some at their limits';
$fake->set(used => '');
let_pass(1.1);    # the primary is asked a second after

# Two connections to each worker.
my %to;
wait_until {
    my $http = $nginx->http;
    push @{$to{$http->get('/x')->header('X-Worker')}}, $http;
    keys %to == 2 && !grep { @$_ < 2 } values %to
} what => 'connections to both workers';
my ($one, $beside, $two) = map { @$_[0, 1] } values %to;

for my $case (
    [one   => $beside, 'a charge sent after the question'],
    [two   => $two,    'one answered before the question is'],
) {
    my ($name, $charging, $what) = @$case;
    my @key    = ('X-Key' => $name);
    my $charge = sub {
        is $charging->get('/many', @key)->status, 200, "$name: another request passes under a higher limit";
        wait_until { $fake->writes } what => 'its charge';
    };
    $fake->forget;
    $one->start_request('GET', '/few', [@key]);
    wait_until { $fake->commands('hmget') == 1 } what => 'a question to the primary';
    $charge->();
    is $two->get('/few', @key)->status, 429, 'meanwhile memory rejects';
    $fake->release('gate');
    is limits($one->response)->{used}, 4, "$what is newer than the answer";
    is $one->get('/few', @key)->status, 429, 'and memory keeps it';
}

# Nor is the primary asked to confirm what it has not answered yet.
my @three = ('X-Key' => 'three');
$fake->set(slow => 1);
$fake->forget;
is $two->get('/many', @three)->status, 200, 'three: another request passes under a higher limit';
wait_until { $fake->writes } what => 'its charge';
$fake->forget;    # that request's check may have been asked of the primary, too
shows $one->get('/few', @three), 429, {used => 4}, 'a charge that is not answered counts';
is scalar($fake->commands('hmget')), 0, 'and the primary is not asked';
$fake->release('charge');

done;
