# lua/bucket.lua in a real Redis: what is taken, what is stored, and what becomes of what others have stored.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $bucket = $redis->script(project_file('lua/bucket.lua'));
my $second = 1_000_000_000;
my $now    = 1_700_000_000;    # seconds
my $token  = $second / 10;     # ten a second
my $fill   = 20 * $token;      # a burst of twenty

my $returned;                  # what has ever been given back, as the last answer said

# A receipt is its mark, and perhaps when it was made.
sub words ($mark, $at) { return defined $mark ? ($mark >> 32, $mark & 0xffff_ffff, $at // 0) : ('') x 3 }

# Returns the mark of a cost that was taken just now, at so many nanoseconds, after which so much is missing.
sub mark ($ns, $missing) {
    use integer;
    return $now * $second + $ns + $missing + $returned;
}

# Calls the script at $now and so many nanoseconds, which must be whole microseconds.
sub at ($ns, $want, %how) {
    my ($seconds, $rest) = ($now + int($ns / $second), $ns % $second);
    my $answer = $redis->ask('EVALSHA', $bucket, 1, 'k', $how{token} // $token, $how{fill} // $fill, $want, $how{least} // $want,
        $how{parts} // 1, words(@how{qw(mark at)}), $seconds, $rest / 1000);
    return $answer if ref $answer ne 'ARRAY';
    my ($time, $high, $low) = splice @$answer, 4;
    $returned = $high << 32 | $low;
    die 'not its time' if $time != $seconds * 1_000_000 + $rest / 1000;
    return $answer;
}
# Returns what is stored, without its sign.
sub stored () {
    my $bytes = $redis->cmd('GET', 'k') // return;
    my ($full, $longest) = unpack 'Q>3', $bytes;
    return length $bytes != 24 ? 'not 24 bytes' : $full >> 63 == 0 ? 'no sign' : ($full & ~(1 << 63)) . " $longest";
}
sub packed ($full, $longest) { return pack 'Q>3', $full | 1 << 63, $longest, 0 }
sub hold (@with) { $redis->flush; $redis->cmd(@with) }

subtest 'a burst, and then the rate' => sub {
    is_deeply at(0, 1), [1, 20 - $_, $_ * $token, 0], "number $_ at once" for 1 .. 20;
    is_deeply at(0, 1), [0, 0, $fill, $token], 'none after that, but when a token is there';
    is_deeply at($token - 1000, 1), [0, 0, $fill - $token + 1000, 1000], 'nor a microsecond before';
    is_deeply at($token, 1), [1, 0, $fill, 0], 'then one';
    is_deeply at($second, 20), [0, 9, 11 * $token, 11 * $token], 'a cost that does not fit, and when it will';
    is_deeply at($second, 20, least => 1), [9, 0, $fill, 0], 'what is left of it, where that will do';
    is_deeply at(10 * $second, 3), [3, 17, 3 * $token, 0], 'a full bucket is no fuller for waiting';
    is_deeply at(10 * $second, 21), [0, 17, 3 * $token, 4 * $token], 'more than it holds';
    is_deeply at(10 * $second, 0), [0, 17, 3 * $token, 0], 'nothing wanted';
};

subtest 'stored' => sub {
    $redis->flush;
    at(5000, 3);
    is stored(), $now . sprintf('%09d', 3 * $token + 5000) . " $fill", 'when it is full again, and how long it takes at most, in nanoseconds';
    ok $redis->expires_in('k', 60_425), '... and a minute and a sixteenth of its fill later it is gone';
    $redis->cmd('PEXPIRE', 'k', 20_000);
    is_deeply at(5000, 0), [0, 17, 3 * $token, 0], 'what nothing is wanted of';
    is_deeply at(5000, 18), [0, 17, 3 * $token, $token], '... or more than is there';
    ok $redis->expires_in('k', 20_000), '... lives no longer for that';
    is_deeply at(5000, 0, parts => 0), [0, 17, 3 * $token, 0], 'but with parts 0';
    ok $redis->expires_in('k', 60_425), '... it does';
    at(5000, -2);
    ok $redis->expires_in('k', 60_425), 'what is put back leaves it as long as it had';
    at(5000, -3);
    is stored(), $now . sprintf('%09d', 5000) . " $fill", 'a full bucket stays';
    $redis->cmd('PEXPIRE', 'k', 90_000);
    at(5000, 1);
    ok $redis->expires_in('k', 90_000), 'nor does what is taken shorten its life: machines count on it';
    $redis->flush;
    at(5000, -3);
    is stored(), undef, '... and is not made';
};

subtest 'parts' => sub {
    $redis->flush;
    is_deeply at(0, 20, least => 1, parts => 4), [5, 15, 5 * $token, 0], 'one of four parts of what is left';
    is_deeply at(0, 20, least => 7, parts => 4), [7, 8, 12 * $token, 0], '... but the least';
};

subtest 'back, and in any case' => sub {
    $redis->flush;
    at(0, 5);
    is_deeply at(0, -2), [0, 17, 3 * $token, 0], 'some is put back';
    is_deeply at(0, -9), [0, 20, 0, 0], 'no more than was taken';
    is_deeply at(0, -9), [0, 20, 0, 0], 'nor into a bucket that is not there';
    is_deeply at(0, 12, parts => 0), [12, 8, 12 * $token, 0], 'a charge in any case';
    is_deeply at(0, 12, parts => 0), [12, 0, $fill, 0], '... empties it at most';
    is_deeply at($fill, 20), [20, 0, $fill, 0], '... so that it fills in its time';
};

# With `last` in the receipt all goes back as if it had never been taken, or nothing.
subtest 'back by the last' => sub {
    for my $between (0, 1) {
        $redis->flush;
        at(0, 4);
        my $four = mark(0, 4 * $token);
        at(0, 6);
        my $six = mark(0, 10 * $token);
        my $before = $returned;
        is_deeply at(1000, -4, mark => $four, at => 'last'), [0, 10, 10 * $token - 1000, 0], 'not where others have taken something since';
        if ($between) {
            is_deeply at(1000, -4, mark => $four), [0, 14, 6 * $token, 0], 'something else goes back, and is no taking';
            is_deeply at($token, -6, mark => $six, at => 'last'), [0, 20, 0, 0], '... so the last can still go back, as far as it is not refilled';
            next;
        }
        is_deeply at($token, -6, mark => $six, at => 'last'), [0, 17, 3 * $token, 0], 'the last goes back';
        is $returned, $before, '... and is not counted';
        is_deeply at($token, -6, mark => $six, at => 'last'), [0, 17, 3 * $token, 0], '... once';
        is_deeply at(2 * $token, -4, mark => $four, at => 'last'), [0, 20, 0, 0], '... so that the one before it is the last';
        is_deeply at(2 * $token, -4, mark => $four, at => 'last'), [0, 20, 0, 0], 'nothing goes back to a full bucket';
        at(9 * $token, 3);
        is_deeply at(9 * $token, -3, mark => $six, at => 'last'), [0, 17, 3 * $token, 0], 'nor of what was taken long ago';
    }
};

# With a receipt only that goes back which has not been refilled since it was taken: what goes back meanwhile may have been older.
subtest 'back with a receipt' => sub {
    $redis->flush;
    is_deeply at(0, 4), [4, 16, 4 * $token, 0], 'four';
    my $four = mark(0, 4 * $token);
    is_deeply at(0, 6), [6, 10, 10 * $token, 0], 'six';
    my $six = mark(0, 10 * $token);
    is_deeply at(3 * $token, -4, mark => $four), [0, 14, 6 * $token, 0], 'one of the four is not refilled yet';
    is_deeply at(3 * $token, -6, mark => $six), [0, 20, 0, 0], 'all of the six that are missing';
    is_deeply at(3 * $token, -6, mark => $six), [0, 20, 0, 0], 'and no more';
    at(3 * $token, 5);
    is_deeply at(3 * $token, -6, mark => $six), [0, 15, 5 * $token, 0], 'nor of what others take';
    my $five = mark(3 * $token, 5 * $token);
    is_deeply at(3 * $token, -5, mark => $five), [0, 20, 0, 0], 'at once all of it';

    $redis->flush;
    at(0, 10);
    my $one = mark(0, 10 * $token);
    at(0, 10);
    my $other = mark(0, $fill);
    is_deeply at(0, -10, mark => $one), [0, 10, 10 * $token, 0], 'the first ten go back at once';
    is_deeply at(10 * $token, 20), [20, 0, $fill, 0], 'so that the bucket is full when it has refilled ten';
    is_deeply at(10 * $token, -10, mark => $other), [0, 0, $fill, 0], '... and the second ten are worth nothing any more';

    is_deeply at(10 * $token, -10, mark => $other, at => $now * 1_000_000), [0, 0, $fill, 0], '... nor by their age';
    is_deeply at(10 * $token, -10, mark => $other, at => $now * 1_000_000 + 400_000), [0, 4, 16 * $token, 0], 'younger ones cannot all be refilled yet';
    is_deeply at(10 * $token, -1, mark => $other, at => $now * 1_000_000 + 1_000_000), [0, 5, 15 * $token, 0], '... and the youngest not at all';

    my $before = $returned;
    $redis->cmd('DEL', 'k');
    at(20 * $token, 20);
    cmp_ok abs($returned - $before), '>', 1e14, 'another key counts from far away';
    is_deeply at(20 * $token, -10, mark => $_), [0, 0, $fill, 0], '... where a mark of an earlier one is worth nothing' for $other + 3 * $fill, $other + 1000 * $fill;
    is_deeply at(20 * $token, -10, mark => $other), [0, 0, $fill, 0], '... so that marks of an earlier one are worth nothing';
    $redis->cmd('DEL', 'k');
    is_deeply at(20 * $token, -10, mark => $other), [0, 20, 0, 0], 'nor is there anything to put back where none is stored';
    is stored(), undef, '... nor is it made';

    hold 'SET', 'k', pack 'Q>3', ($now * $second + 4 * $token) | 1 << 63, $fill, 18_446_744_073_709_551_600;
    is_deeply at(0, -1), [0, 17, 3 * $token, 0], 'the count comes round';
    is $returned, $token - 16, '... to 0';
    at(0, 1);
    is_deeply at(0, -1, mark => mark(0, 4 * $token)), [0, 17, 3 * $token, 0], '... and goes on';
    hold 'SET', 'k', packed(9e18, $fill);
    at(0, 0, parts => 0);
    is $returned, 9_000_000_000_000_000_000 - $now * $second, 'what no limit can have taken counts as given back';
    is_deeply at(0, -3, mark => mark(0, $fill)), [0, 3, 17 * $token, 0], '... a mark after that is worth all';
    hold 'SET', 'k', packed(9e18, $fill);
    is_deeply at(0, -3, mark => 9_000_000_000_000_000_000), [0, 0, $fill, 0], '... and one before that nothing, without its age';
};

subtest 'limits of different bursts' => sub {
    $redis->flush;
    my @small = (fill => 3 * $token);
    at(0, 10);
    is_deeply at(0, 1, fill => 10 * $token), [0, 0, 10 * $token, $token], 'what is none to one';
    is_deeply at(0, 1, @small), [0, 0, 10 * $token, 8 * $token], '... is none to another';
    is_deeply at(0, 2, @small, parts => 0), [2, 0, 10 * $token, 0], 'which does not refill it by a charge';
    is_deeply at(0, -2, @small), [0, 0, 8 * $token, 0], '... and by what it gives back no more than that';
    is stored(), $now . sprintf('%09d', 8 * $token) . " $fill", 'the longest time to fill stays';
    is_deeply at(0, 2), [2, 10, 10 * $token, 0], 'the other takes these';
    is_deeply at($second, 2, @small, parts => 0), [2, 1, 2 * $token, 0], 'full again, and charged';
    is stored(), ($now + 1) . sprintf('%09d', 2 * $token) . " $fill", 'the longest time stays as long as the key';
    hold 'SET', 'k', packed($now * $second + 12 * $token, 10 * $token);
    is_deeply at(0, 1, fill => 10 * $token), [0, 0, 12 * $token, 3 * $token], 'what plain commands of a greater one took is waited for';
    is_deeply at(0, 0, fill => 10 * $token), [0, 0, 12 * $token, 0], '... and told where nothing is wanted';
    $redis->flush;
    at(0, 2, @small);
    is stored(), $now . sprintf('%09d', 2 * $token) . ' ' . 3 * $token, 'another key is one of the other size';
    at(0, 1);
    is stored(), $now . sprintf('%09d', 3 * $token) . " $fill", '... until the greater one takes some';
};

subtest 'what others have stored' => sub {
    for my $value ('', 'x', '-1', '1e18', '0x7f', 'nan', '17', '1' x 18, '1' x 20, '0' x 19, '1' x 19, '9' x 19, '9' x 19 . ' x', '9' x 19 . ' 0', '9' x 19 . ' ' . '9' x 20, "170000000000000000\n", ' ' . '1' x 18, '9' x 16, packed(9e18, 0), packed(9e18, 946_728_000_000_001_000), packed(9e18, $fill) . 'x',
        substr(packed(9e18, $fill), 0, 16), pack('Q>3', 9e18, $fill, 0)) {
        hold 'SET', 'k', $value;
        is_deeply at(0, 1), [1, 19, $token, 0], "'$value' is a full bucket";
    }
    hold 'HSET', 'k', 'used', 1;
    is_deeply at(0, 1), [1, 19, $token, 0], 'so is another type';
    is stored(), $now . sprintf('%09d', $token) . " $fill", '... which makes way';
    hold 'SET', 'k', packed(9e18, $fill);
    is_deeply at(0, 1), [0, 0, $fill, $token], 'the far future is an empty one';
    is stored(), ($now + 2) . "000000000 $fill", '... that is empty now';
    is_deeply at($token - 1000, 1), [0, 0, $fill - $token + 1000, 1000], '... and which refusals do not put off';
    is_deeply at($fill, 20), [20, 0, $fill, 0], '... so that it fills in its time';
    hold 'SET', 'k', packed(9e18, $fill);
    is_deeply at(0, 1, parts => 0), [1, 0, $fill, 0], 'a charge repairs it, too';
    hold 'SET', 'k', packed(1e18, 1);
    is_deeply at(0, 1), [1, 19, $token, 0], 'the past is a full one';
};

subtest 'what plain commands take' => sub {
    my sub take ($ns, $cost) { return $redis->cmd(qw(BITFIELD k OVERFLOW SAT INCRBY u63 1), -"$now$ns", qw(INCRBY i64 0), "$now$ns" + $cost) }
    my $sign = -9223372036854775807 - 1;
    my $zero = '0' x 9;
    $redis->flush;
    at(0, 3);
    is_deeply take($zero, $token), [3 * $token, $sign + "$now$zero" + 4 * $token], 'what was missing, and the instant';
    is_deeply at(0, 1), [1, 15, 5 * $token, 0], 'the script knows of it';
    is_deeply take('600000000', 2 * $token), [0, $sign + "${now}800000000"], 'a bucket that has been full counts from now';
    is_deeply at(6 * $token, 1), [1, 17, 3 * $token, 0], '... for the script too';
    take('600000000', 19 * $token);
    is_deeply at(6 * $token, 1), [0, 0, 22 * $token, 3 * $token], 'too much, for a while';
    is_deeply at(6 * $token, 19 * -$token, token => 1), [0, 17 * $token, 3 * $token, 0], '... goes back wholly';
    take('600000000', 38 * $token);
    is_deeply at(6 * $token, 1), [0, 0, $fill, $token], 'far too much';
    is stored(), ($now + 2) . "600000000 $fill", '... is no bucket';
    $redis->flush;
    is_deeply take($zero, $token), [0, "$now$zero" + $token], 'where the key was gone there is no sign';
    is_deeply at(0, 1), [1, 19, $token, 0], '... and the script takes it for a full bucket';
    ok $redis->expires_in('k', 60_225), '... which expires';
};

subtest 'rates and bursts of all sizes' => sub {
    $redis->flush;
    is_deeply at(0, 1, token => 1000, fill => 1e9), [1, 999_999, 1000, 0], 'a million a second';
    is_deeply at(1000, 0, token => 1000, fill => 1e9), [0, 1_000_000, 0, 0], '... refills one in a microsecond';
    $redis->flush;
    is_deeply at(0, 1, token => 333_333_334, fill => 3 * 333_333_334), [1, 3 - $_, $_ * 333_333_334, 0], "number $_ of three a second" for 1 .. 3;
    is_deeply at(0, 1, token => 333_333_334, fill => 3 * 333_333_334), [0, 0, 3 * 333_333_334, 333_333_334], '... and no fourth';
    $redis->flush;
    my $day = 86_400 * $second;
    is_deeply at(0, 1, token => $day, fill => 200 * $day), [1, 200 - $_, $_ * $day, 0], "number $_ of 200, one a day" for 1 .. 200;
    is_deeply at($day - 1000, 1, token => $day, fill => 200 * $day), [0, 0, 199 * $day + 1000, 1000], '... and the next a day later';
};

subtest 'the time of Redis' => sub {
    $redis->flush;
    my $slow = 3600 * $second;
    my $take = sub { $redis->ask('EVALSHA', $bucket, 1, 'k', $slow, 2 * $slow, 1, 1, 1) };
    cmp_ok abs($take->()[4] / 1e6 - time), '<=', 2, 'which it says';
    $redis->flush;
    is $take->()[0], 1, 'one' for 1 .. 2;
    is $take->()[0], 0, 'no third within an hour';
    my $full = substr stored(), 0, 10;
    cmp_ok abs($full - time - 7200), '<=', 2, 'full in two';
};

done;
