# lease: whatever a primary answers to a fetch but what the script can say is for rate_limit_on_error, and brings no tokens.
# A primary that does not know the script gets its text, once.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $huge  = '9223372036854775807';
sub numbers (@numbers) { return array(map { integer($_) } @numbers) }

# 10 of 100 are asked for, and no less than 3.
my @errors = ('OOM command not allowed', 'LOADING Redis is loading the dataset', 'READONLY You can\'t write',
    'WRONGTYPE Operation against a wrong kind', 'MISCONF Redis is configured', 'BUSY Redis is busy', 'NOAUTH needed',
    'MOVED 3999 127.0.0.1:1', 'ERR what', '', 'NOSCRIPT No matching script');
my %odd = (
    (map { ("error $_" => error($_)) } @errors),
    'a status' => simple('OK'), nil => nil(), 'an integer' => integer(10), 'a string' => bulk('10'),
    'an empty array' => "*0\r\n", 'no array' => "*-1\r\n", 'a nil' => array(integer(10), nil(), integer($reset)),
    'a word' => array(bulk('x'), integer(10), integer($reset)), 'too few' => numbers(10, $reset),
    'too many' => numbers(10, 10, $reset, 2), 'a nested array' => array(numbers(10, 10, $reset)),
    'nested in it' => array(integer(10), numbers(10), integer($reset)), 'deeply nested' => "*1\r\n" x 40 . ":1\r\n",
    'minus one' => numbers(-1, 0, 0), 'minus one and a reset' => numbers(-1, 10, $reset),
    'used below 0' => numbers(10, -10, $reset), 'more than was wanted' => numbers(11, 11, $reset),
    'far more' => numbers($huge, $huge, $reset), 'less than was needed' => numbers(2, 2, $reset),
    'more than is used' => numbers(10, 9, $reset), 'beyond the limit' => numbers(10, 101, $reset),
    'far beyond the limit' => numbers(10, $huge, $reset), 'an end that has passed' => numbers(10, 10, 1_000),
    'no end' => numbers(10, 10, 0), 'an end too far away' => numbers(10, 10, $huge),
    'all huge' => numbers($huge, $huge, $huge), 'nothing where all is left' => numbers(0, 0, 0),
    'nothing where enough is left' => numbers(0, 97, $reset), 'nothing, without an end' => numbers(0, 100, 0),
    'another protocol' => "HTTP/1.1 400 Bad Request\r\n\r\n", 'half an answer' => "*3\r\n:10\r\n",
);
my @cases = sort keys %odd;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words[0, 3];
    return fallback($words) if $command !~ /^eval(?:sha)?$/ || @$words < 10;
    my ($n) = $key =~ /:(\w+)$/;
    if ($n eq 'text' || $n eq 'texts') {
        return error('NOSCRIPT No matching script') if $command eq 'evalsha' || $n eq 'texts';
        return numbers($words->[5], $words->[5], $reset);
    }
    return numbers(0, 100, $reset) if $conn->state('sound');
    return error('NOSCRIPT No matching script') if $cases[$n] =~ /NOSCRIPT/;
    return $odd{$cases[$n]} if $cases[$n] ne 'half an answer';
    $conn->send($odd{$cases[$n]});
    $conn->close;
    return;
});
my $nginx = RateLimit::Nginx->start(
    http    => join('', map { redis_block("s$_", $redis) } 0 .. $#cases, 'text', 'texts'),
    server => 'rate_limit_key $http_x_case; rate_limit_store s$http_x_case; rate_limit_mode lease; rate_limit_lease 10;
        rate_limit_on_error deny; rate_limit_cost $http_x_cost; rate_limit 100r/h;
        add_header X-Outcome $rate_limit_status always; add_header X-Time $rate_limit_store_time always;
        location / {}',
);

my $time;

sub ask ($case, $cost) {
    my $response = $nginx->get('/x', 'X-Case' => $case, 'X-Cost' => $cost);
    $time = $response->header('X-Time');
    return outcome($response);
}

for my $n (0 .. $#cases) {
    is ask($n, 3), '503 ERROR_DENIED', $cases[$n];
    cmp_ok $time, '<', patience(5), "$cases[$n]: no wait for check_timeout";
}
my @asked = map { my $n = $_; scalar grep { $_->[3] =~ /:$n$/ } $redis->commands('evalsha') } 0 .. $#cases;
my @broken = grep { $cases[$_] =~ /half an answer|another protocol/ } 0 .. $#cases;
ok $asked[$_] >= 1, "$cases[$_]: the connection is broken, and the batch may be asked for again" for @broken;
$asked[$_] = 1 for @broken;
is_deeply \@asked, [(1) x @cases], 'all else was asked once';
$redis->set(sound => 1);
for my $n (0 .. $#cases) {
    my $outcome;
    wait_until { $outcome = ask($n, 1); $outcome !~ /ERROR/ } what => "$cases[$n]: the next answer";
    is $outcome, '429 REJECTED', "$cases[$n]: nothing is at hand";
}

sub sent ($command, $key) { return scalar grep { $_->[3] =~ /:$key$/ } $redis->commands($command) }

is ask('text', 3), '200 PASSED', 'a primary without the script gets its text';
is_deeply [map { sent($_, 'text') } qw(evalsha eval)], [1, 1], 'once';
is ask('texts', 3), '503 ERROR_DENIED', 'one that still does not know it';
is_deeply [map { sent($_, 'texts') } qw(evalsha eval)], [1, 1], 'gets it no second time';

done;
