# What a primary answers to the plain commands that take from a bucket, of one that may be full and of one that is not: whatever such a command
# cannot say is for rate_limit_on_error, takes nothing, and nothing is put back of it. Where the bucket was not there, or has too little, the
# script decides.

use RateLimit::Test;

my $mark  = -9223372036854775807 - 1;
my $huge  = '9223372036854775807';
sub numbers (@numbers) { return array(map { integer($_) } @numbers) }
sub time_now () { return int(Time::HiRes::time() * 1e9) }

# What the first of two numbers says, the second one shows: so much was missing, and now is. Of one number only the second is there.
my %sound  = (room => [10, 20], much => [70, 80]);
my %unsure = (
    gone => [0, '+', []], other => [5, 'huge', []], empty => [91, 101, [-10]], emptied => [190, 200, [-10]], beyond => [191, 201, [-10]],
    noperm => [error('NOPERM no'), undef, []], text => [error('WRONGTYPE Operation against a key holding the wrong kind of value'), undef, []],
);

# Of 100 tokens 10 are asked for. They come back in a moment, so that the bucket may be full, or in some time.
is_answered('may be full', '125r/s', 8_000_000, 12, {%unsure, exact => [90, 100, [-10]]},
    'minus one' => numbers(-1, $mark + 1), 'too few' => numbers($mark), 'an instant long gone' => numbers(0, $mark),
    'an instant before it was asked for' => [0, -1], 'too little' => [0, 9], 'too much' => [0, 11], 'too many' => numbers(0, $mark, 0), 'huge' => numbers($huge, -1));
is_answered('is filling', '100r/m', 600_000_000, 6, {%unsure, 'full meanwhile' => [0, 9, [-10]], 'full long ago' => [0, -1000, [-10]]},
    'too many' => numbers(0, $mark));

sub is_answered ($kind, $rate, $token, $words, $unsure, %of_kind) {
    my %odd = (
        %of_kind, (map { ("error $_" => error($_)) } 'OOM command not allowed', 'ERR what', ''),
        'a status' => simple('OK'), nil => nil(), 'an integer' => integer(10), 'a string' => bulk('10'), 'an empty array' => "*0\r\n",
        'a nil' => array(nil()), 'zero and nil' => array(integer(0), nil()), 'two nils' => array(nil(), nil()));
    my @cases  = sort keys %odd;
    my %decide = %$unsure;
    my @unsure = map { tr/ /_/r } sort keys %decide;
    $decide{tr/ /_/r} = delete $decide{$_} for keys %decide;
    my $redis = RateLimit::FakeRedis->start(handler => sub ($said, $conn) {
        my ($command, $name) = @$said;
        my ($key) = ($command eq 'bitfield' ? $name : $said->[3] // '') =~ /:(\w+)$/;
        if ($command =~ /^eval/) {
            my $taken = $said->[6] < 0 ? 0 : 10;
            return numbers($taken, 100 - $taken, $taken * $token, 0, int(time_now() / 1000), 0, 0);
        }
        return fallback($said) if $command ne 'bitfield';
        my $now    = @$said == 12 ? -$said->[7] : time_now();
        my $answer = $sound{$key} // $decide{$key} // $odd{$cases[$key]};
        return $answer      if !ref $answer;
        return $answer->[0] if $key =~ /^(?:text|noperm)$/;
        my ($before, $after) = @$answer;
        # A time that the fake takes itself is some time off the one that the worker reckons with.
        my $instant = $after eq 'huge' ? $huge : $after eq '+' ? $now + 10 * $token : $mark + $now + $after * $token - (@$said == 6 ? $token / 2 : 0);
        return @$said == 12 ? numbers($before * $token, $instant) : numbers($instant);
    });
    my @keys  = (0 .. $#cases, sort(keys %sound), @unsure);
    my $nginx = RateLimit::Nginx->start(
        http   => 'log_format end "$http_x_case"; ' . join('', map { redis_block("s$_", $redis) } @keys),
        server => "rate_limit_key \$http_x_case; rate_limit_store s\$http_x_case; rate_limit_on_error deny; rate_limit_cost 10;
            rate_limit $rate burst=100; access_log %%DIR%%/ends end; add_header X-Outcome \$rate_limit_status always;",
    );
    my $asked = 0;

    # The answer to the first request that a plain command asks for. Those before it, of which the first makes the bucket known, ask the script:
    # more than one do where the worker was held up.
    my $ask = sub ($case) {
        for (1 .. 40) {
            my $before = () = $redis->commands('bitfield');
            my $answer = $nginx->get('/x', 'X-Case' => $case);
            my @plain  = $redis->commands('bitfield');
            ++$asked;
            if (@plain > $before) {
                is scalar @{$plain[-1]}, $words, "$kind, $case: the plain command is the one for that";
                return $answer;
            }
            is outcome($answer), '200 PASSED', "$kind, $case: the script makes it known";
        }
        die 'no plain command';
    };

    is outcome($ask->($_)), '503 ERROR_DENIED', "$kind: $cases[$_]" for 0 .. $#cases;
    for my $case (sort keys %sound) {
        my $answer = $ask->($case);
        is outcome($answer), '200 PASSED', "$kind, $case: what it can say is believed";
        is limits($answer)->{used}, $sound{$case}[1], '... and shown';
    }
    is outcome($ask->($_)), '200 PASSED', "$kind, $_: the script decides" for @unsure;
    wait_until { $asked == $nginx->lines('ends') } what => 'the ends';
    $nginx->stop;

    my %wanted;    # of scripts
    for ($redis->commands('evalsha')) {
        my ($key) = $_->[3] =~ /:(\w+)$/;
        push @{$wanted{$key}}, $_->[6];
    }
    my %plain;
    $plain{$_->[1] =~ s/.*://r}++ for $redis->commands('bitfield');
    is_deeply [grep { $plain{$_} != 1 } @keys], [], "$kind: each plain command was sent once";
    is_deeply [grep { (grep { $_ != 10 } @{$wanted{$_}}) > 0 } 0 .. $#cases, keys %sound], [], 'nothing is put back of odd answers';
    is_deeply [map { scalar grep { $_ == -10 } @{$wanted{$_}} } @unsure], [map { scalar @{$decide{$_}[2]} } @unsure], 'but what did not fit';
    is_deeply [map { $wanted{$_}[-1] } @unsure], [(10) x @unsure], '... before the script is asked';
    return;
}

done;
