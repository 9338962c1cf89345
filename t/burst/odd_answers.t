# Whatever a primary answers to a bucket's request but what the script can say is for rate_limit_on_error, takes nothing, and nothing is put
# back of it.

use RateLimit::Test;

my $token = 3_600_000_000_000 / 100;
my $huge  = '9223372036854775807';
my $time  = 1_700_000_000_000_000;
sub numbers (@numbers) { return array(map { integer($_) } @numbers) }

# 10 of 100 are asked for, all or nothing.
my %odd = (
    (map { ("error $_" => error($_)) } 'OOM command not allowed', 'NOPERM no', 'ERR what', ''),
    'a status' => simple('OK'), nil => nil(), 'an integer' => integer(10), 'a string' => bulk('10'), 'an empty array' => "*0\r\n",
    'a nil' => array(integer(10), nil(), (integer(1)) x 5), 'too few' => numbers(10, 90, 10 * $token, 0, $time),
    'minus one' => numbers(-1, 0, 0, 0, $time, 0, 0), 'more than was wanted' => numbers(11, 89, 11 * $token, 0), 'far more' => numbers(($huge) x 4, $time, 0, 0),
    'less than was needed' => numbers(9, 91, 9 * $token, 0, $time, 0, 0), 'nothing where enough is left' => numbers(0, 10, 90 * $token, 0, $time, 0, 0),
    'more left than it holds' => numbers(10, 101, 10 * $token, 0, $time, 0, 0), 'taken, and full' => numbers(10, 90, 0, 0, $time, 0, 0),
    'a time before all' => numbers(10, 90, 10 * $token, 0, -1, 0, 0), 'one after all' => numbers(10, 90, 10 * $token, 0, $huge, 0, 0),
    'full in a hundred years' => numbers(10, 90, '3155760000000000000', 0, $time, 0, 0),
);
my @cases = sort keys %odd;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^eval(?:sha)?$/;
    my ($n) = $words->[3] =~ /:(\w+)$/;
    return $n eq 'sound' ? numbers(10, 90, 10 * $token, 0, $time, 0, 0) : $odd{$cases[$n]};
});
my $nginx = RateLimit::Nginx->start(
    http   => 'log_format end "$http_x_case"; ' . join('', map { redis_block("s$_", $redis) } 0 .. $#cases, 'sound'),
    server => 'rate_limit_key $http_x_case; rate_limit_store s$http_x_case; rate_limit_on_error deny; rate_limit_cost 10;
        rate_limit 100r/h burst=100; access_log %%DIR%%/ends end; add_header X-Outcome $rate_limit_status always;
        location /deny {} location /allow { rate_limit_on_error allow; alias %%DIR%%/html/x; }',
);
sub ask ($case, $uri = '/deny') { return $nginx->get($uri, 'X-Case' => $case) }

is outcome(ask($_)), '503 ERROR_DENIED', $cases[$_] for 0 .. $#cases;
my $sound = ask('sound');
is outcome($sound), '200 PASSED', 'what it can say is believed';
is_deeply [@{limits($sound)}{qw(limit used remaining)}], [100, 10, 90], '... and shown';
my ($allowed) = grep { $cases[$_] eq 'more than was wanted' } 0 .. $#cases;
is outcome(ask($allowed, '/allow')), '200 ERROR_ALLOWED', 'on_error decides';
ok $nginx->count_log(qr/could not be checked: malformed/), 'and the log says why';
wait_until { @cases + 2 == $nginx->lines('ends') } what => 'the ends';
$nginx->stop;
my @sent = grep { $_->[3] !~ /:$allowed$/ } $redis->commands('evalsha');
is_deeply [sort map { $_->[3] =~ /:(\w+)$/ } @sent], [sort 0 .. $allowed - 1, $allowed + 1 .. $#cases, 'sound'],
    'each was asked once, and nothing is put back';

done;
