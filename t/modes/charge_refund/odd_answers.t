# charge_refund: whatever a primary answers to a reservation but what the script can say is for rate_limit_on_error, charges
# nothing, and nothing is given back of it.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $huge  = '9223372036854775807';
sub numbers (@numbers) { return array(map { integer($_) } @numbers) }

# 10 of 100 are asked for, all or nothing.
my %odd = (
    (map { ("error $_" => error($_)) } 'OOM command not allowed', 'WRONGTYPE Operation against a wrong kind', 'ERR what', ''),
    'a status' => simple('OK'), nil => nil(), 'an integer' => integer(10), 'a string' => bulk('10'),
    'an empty array' => "*0\r\n", 'a nil' => array(integer(10), nil(), integer($reset)), 'too few' => numbers(10, $reset),
    'too many' => numbers(10, 10, $reset, 2), 'minus one' => numbers(-1, 0, 0), 'used below 0' => numbers(10, -10, $reset),
    'more than was wanted' => numbers(11, 11, $reset), 'far more' => numbers($huge, $huge, $reset),
    'less than was needed' => numbers(9, 9, $reset), 'more than is used' => numbers(10, 9, $reset),
    'beyond the limit' => numbers(10, 101, $reset), 'an end that has passed' => numbers(10, 10, 1_000),
    'no end' => numbers(10, 10, 0), 'an end too far away' => numbers(10, 10, $huge), 'all huge' => numbers(($huge) x 3),
    'nothing where all is left' => numbers(0, 0, 0), 'nothing where enough is left' => numbers(0, 90, $reset),
    'nothing, without an end' => numbers(0, 100, 0), 'nothing, of a window that has ended' => numbers(0, 100, 1_000),
);
my @cases = sort keys %odd;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^eval(?:sha)?$/;
    my ($n) = $words->[3] =~ /:(\w+)$/;
    return numbers($words->[5], $words->[5], $reset) if $n eq 'sound' && @$words == 10;
    return $odd{$cases[$n]};
});
my $nginx = RateLimit::Nginx->start(
    http    => 'log_format end "$http_x_case"; ' . join('', map { redis_block("s$_", $redis) } 0 .. $#cases, 'sound'),
    server => 'rate_limit_key $http_x_case; rate_limit_store s$http_x_case; rate_limit_mode charge_refund;
        rate_limit_on_error deny; rate_limit_cost 10; rate_limit 100r/h; access_log %%DIR%%/ends end;
        add_header X-Outcome $rate_limit_status always;
        location /deny {} location /allow { rate_limit_on_error allow; alias %%DIR%%/html/x; }',
);

sub ask ($case, $uri = '/deny') { return outcome($nginx->get($uri, 'X-Case' => $case)) }

is ask($_), '503 ERROR_DENIED', $cases[$_] for 0 .. $#cases;
is ask('sound'), '200 PASSED', 'what it can say is believed';
my ($allowed) = grep { $cases[$_] eq 'more than was wanted' } 0 .. $#cases;
is ask($allowed, '/allow'), '200 ERROR_ALLOWED', 'on_error decides';
ok $nginx->count_log(qr/could not be checked: malformed/), 'and the log says why';
wait_until { @cases + 2 == $nginx->lines('ends') } what => 'the ends';
$nginx->stop;
my @sent = grep { $_->[3] !~ /:$allowed$/ } $redis->commands('evalsha');
is_deeply [sort map { $_->[3] =~ /:(\w+)$/ } @sent], [sort 0 .. $allowed - 1, $allowed + 1 .. $#cases, 'sound'],
    'each was asked once, and nothing is given back';

done;
