# What a primary answers to the plain command that takes from a bucket: whatever such a command cannot say is for rate_limit_on_error, takes
# nothing, and nothing is put back of it. Where the bucket was not there, or has too little, the script decides.

use RateLimit::Test;

my $token = 600_000_000;    # 100 a minute
my $mark  = -9223372036854775807 - 1;
my $huge  = '9223372036854775807';
sub numbers (@numbers) { return array(map { integer($_) } @numbers) }
sub taken ($n) { return numbers($n, 100 - $n, $n * $token, 0, int(Time::HiRes::time() * 1e6), 0, 0) }

# 10 of 100 are asked for. "+ N" stands for the instant that is asked for and so much.
my %odd = (
    (map { ("error $_" => error($_)) } 'OOM command not allowed', 'ERR what', ''),
    'a status' => simple('OK'), nil => nil(), 'an integer' => integer(10), 'a string' => bulk('10'), 'an empty array' => "*0\r\n",
    'a nil' => array(integer(0), nil()), 'two nils' => array(nil(), nil()), 'minus one' => numbers(-1, $mark + 1), 'too few' => numbers($mark),
    'an instant long gone' => numbers(0, $mark), 'an instant before it was asked for' => [0, -$token], 'too little' => [0, 9 * $token],
    'too much' => [0, 11 * $token], 'too many' => numbers(0, $mark, 0), 'huge' => numbers($huge, -1),
);
my @cases = sort keys %odd;
my %sound = (room => [10 * $token, 20 * $token], nearly => [89 * $token, 99 * $token]);
my %unsure = (
    gone => [0, '+', []], other => [5, $huge, []], empty => [91 * $token, 101 * $token, [-10]], emptied => [190 * $token, 200 * $token, [-10]],
    beyond => [191 * $token, 201 * $token, [-10]], exact => [90 * $token, 100 * $token, [-10]], noperm => [error('NOPERM no'), undef, []], text => [error('WRONGTYPE Operation against a key holding the wrong kind of value'), undef, []],
);

my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $name) = @$words;
    my ($key) = ($words->[0] eq 'bitfield' ? $name : $words->[3] // '') =~ /:(\w+)$/;
    if ($command =~ /^eval/) {
        return numbers(0, 100, 0, 0, int(Time::HiRes::time() * 1e6), 0, 0) if $words->[6] < 0;
        return taken(10);
    }
    return fallback($words) if $command ne 'bitfield';
    my ($now) = map { -$_ } $words->[7];
    my $answer = $sound{$key} // $unsure{$key} // $odd{$cases[$key]};
    return $answer if !ref $answer;
    return $answer->[0] if $key =~ /^(?:text|noperm)$/;
    return numbers($answer->[0], $now + 10 * $token) if $answer->[1] eq '+';
    return numbers($answer->[0], $answer->[1] eq $huge ? $huge : $mark + $now + $answer->[1]);
});
my @keys  = (0 .. $#cases, sort(keys %sound), sort(keys %unsure));
my $nginx = RateLimit::Nginx->start(
    http   => 'log_format end "$http_x_case"; ' . join('', map { redis_block("s$_", $redis) } @keys),
    server => 'rate_limit_key $http_x_case; rate_limit_store s$http_x_case; rate_limit_on_error deny; rate_limit_cost 10;
        rate_limit 100r/m burst=100; access_log %%DIR%%/ends end; add_header X-Outcome $rate_limit_status always;',
);
my $asked = 0;

# The second answer: the first one is the script's. A worker that was held up asks the script once more.
sub ask ($case) {
    for (1 .. 20) {
        my $before = () = $redis->commands('bitfield');
        my ($answer, $again) = map { $nginx->get('/x', 'X-Case' => $case) } 1 .. 2;
        $asked += 2;
        is outcome($answer), '200 PASSED', "$case is known";
        return $again if $before < (() = $redis->commands('bitfield'));
    }
    die 'no plain command';
}

is outcome(ask($_)), '503 ERROR_DENIED', $cases[$_] for 0 .. $#cases;
for my $case (sort keys %sound) {
    my $answer = ask($case);
    is outcome($answer), '200 PASSED', "$case: what it can say is believed";
    is limits($answer)->{used}, $sound{$case}[1] / $token, '... and shown';
}
is outcome(ask($_)), '200 PASSED', "$_: the script decides" for sort keys %unsure;
wait_until { $asked == $nginx->lines('ends') } what => 'the ends';
$nginx->stop;

my %wanted;    # of scripts
for ($redis->commands('evalsha')) {
    my ($key) = $_->[3] =~ /:(\w+)$/;
    push @{$wanted{$key}}, $_->[6];
}
my %plain;
$plain{$_->[1] =~ s/.*://r}++ for $redis->commands('bitfield');
is_deeply [grep { $plain{$_} != 1 } @keys], [], 'each plain command was sent once';
is_deeply [grep { (grep { $_ != 10 } @{$wanted{$_}}) > 0 } 0 .. $#cases, keys %sound], [], 'nothing is put back of odd answers';
is_deeply [map { scalar grep { $_ == -10 } @{$wanted{$_}} } sort keys %unsure], [map { scalar @{$unsure{$_}[2]} } sort keys %unsure],
    'but what did not fit';
is_deeply [map { $wanted{$_}[-1] } keys %unsure], [(10) x keys %unsure], '... before the script is asked';

done;
