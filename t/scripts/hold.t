# lua/hold.lua in a real Redis: who holds how many slots, what is stored, and what becomes of what others have stored.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $hold  = $redis->script(project_file('lua/hold.lua'));
my $now   = 1_700_000_000_123;
my $ttl   = 30_000;
my $skew  = 60_000;

# Asks for a machine at $now, unless told: so many slots of a limit of 20, where `least` - 1 are in use.
sub ask ($me, $number, $want, %how) {
    my $at = $how{at} // $now;
    return $redis->ask('EVALSHA', $hold, 1, 'k', $me, $number, $how{limit} // 20, $want, $how{least} // 1,
        $how{ttl} // $ttl, int($at / 1000), $at % 1000 * 1000);
}
# Returns what each machine has; stored_sum() returns the sum, where it is stored.
sub stored () {
    my %fields = %{$redis->hash('k')};
    delete $fields{'+'};
    return \%fields;
}
sub stored_sum () { return $redis->cmd('HGET', 'k', '+') }
sub put    (@fields) { return $redis->hold_only('k', 500_000, @fields) }
sub text   ($slots, $number, $at = $now) { return sprintf '%d %d %d', $slots, $at + $ttl, $number }

subtest 'slots of one machine' => sub {
    is_deeply ask('a', 1, 3), [3, 0, 1], 'what it wants';
    is_deeply stored(), {a => text(3, 1)}, 'stored: slots, deadline, number';
    ok $redis->expires_in('k', $ttl + 1000), '... for a second longer';
    is_deeply ask('a', 2, 25), [20, 0, 2], 'no more than the limit';
    is_deeply ask('a', 3, 7, at => $now + 50), [7, 0, 3], 'fewer';
    is_deeply stored(), {a => text(7, 3, $now + 50)}, '... for longer';
    is_deeply ask('a', 4, 0), [0, 0, 4], 'none';
    is $redis->cmd('EXISTS', 'k'), 0, '... and nothing is stored';
    is_deeply ask('a', 5, 0), [0, 0, 5], 'none again';
};

subtest 'several machines' => sub {
    $redis->flush;
    is_deeply ask('a', 1, 12), [12, 0, 1], 'the first';
    is_deeply ask('b', 9, 5), [5, 12, 9], 'the second, and what others hold';
    is_deeply ask('c', 1, 5), [3, 17, 1], 'the third gets what is left';
    is_deeply ask('d', 1, 1), [0, 20, 1], 'the fourth nothing';
    is_deeply [sort keys %{stored()}], [qw(a b c)], '... and has no field';
    is_deeply ask('a', 2, 13), [12, 8, 2], 'who asks for more keeps what it has';
    is_deeply ask('a', 3, 10), [10, 8, 3], 'who gives back makes room';
    is_deeply ask('d', 2, 5), [2, 18, 2], '... for others';
    ask('e', 1, 0);
    ok $redis->expires_in('k', $ttl + 1000), 'who has none leaves the others their time';
};

subtest 'a deadline' => sub {
    $redis->flush;
    ask('a', 1, 12);
    is_deeply ask('b', 1, 20, at => $now + $ttl - 1), [8, 12, 1], 'slots are held to the last millisecond';
    is_deeply ask('b', 2, 20, at => $now + $ttl), [20, 0, 2], '... and not longer';
    is_deeply stored(), {b => text(20, 2, $now + $ttl)}, '... and forgotten';
    put gone => text(1, 1, $now - $ttl), b => text(2, 9);
    my $before = stored();
    is_deeply ask('b', 8, 1), [2, 0, 9], 'a call that comes too late';
    is_deeply ask('me', -1, 0, limit => 0, least => 0), [0, 2, 0], '... and a look';
    is_deeply stored(), $before, '... forget nothing';
    $redis->flush;
    ask('a', 1, 12, ttl => 60_000);
    ask('b', 1, 2);
    ok $redis->expires_in('k', 61_000), 'a shorter one does not end a longer one';
    $redis->cmd('PERSIST', 'k');
    ask('b', 2, 0);
    ok $redis->expires_in('k', 61_000), 'nor does a key stay for ever';
};

subtest 'what runs, runs' => sub {
    $redis->flush;
    ask('a', 1, 20);
    is_deeply ask('b', 1, 6, least => 6), [5, 20, 1], 'five run on a machine whose slots have lapsed';
    is_deeply ask('a', 2, 20, least => 21), [20, 5, 2], 'twenty run on the other';
    is_deeply ask('b', 2, 6, least => 5), [5, 20, 2], 'slots that are held stay where they are wanted';
    is_deeply ask('b', 3, 3, least => 4), [3, 20, 3], '... and go where they are not';
    is_deeply ask('a', 3, 9, least => 10, limit => 4), [9, 3, 3], 'a lowered limit takes nothing from what runs';
    is_deeply ask('b', 4, 1, least => 1, limit => 4), [1, 9, 4], '... nor lets more in';
};

subtest 'late and repeated calls' => sub {
    $redis->flush;
    ask('a', 7, 5);
    is_deeply ask('a', 7, 5), [5, 0, 7], 'a call that is repeated';
    is_deeply ask('a', 6, 15), [5, 0, 7], 'an earlier one changes nothing';
    is_deeply ask('a', 6, 0), [5, 0, 7], '... nor gives anything back';
    is_deeply stored(), {a => text(5, 7)}, '... and what stands is told';
    is_deeply ask('a', 6, 1, at => $now + $ttl), [0, 0, 7], '... without what has lapsed';
    ask('b', 3, 2);
    is_deeply ask('a', 1, 9), [5, 2, 7], '... and what others hold';
    is_deeply ask('a', 8, 0, least => 0), [0, 2, 8], 'a machine that waits for the answer to a call gives all back';
    is_deeply stored(), {a => text(0, 8), b => text(2, 3)}, '... and its number stays';
    is_deeply ask('a', 7, 9, least => 6), [0, 2, 8], '... so that the call comes too late';
    is_deeply ask('c', 1, 20), [18, 2, 1], '... and others get the slots';
    is_deeply ask('a', 9, 5, least => 0), [0, 20, 9], 'a machine that gets nothing';
    is_deeply ask('a', 8, 5, least => 6), [0, 20, 9], '... leaves its number likewise';
    my $big = 1_700_000_000_000_123;
    is_deeply ask('b', $big, 2), [2, 18, $big], 'numbers are as exact as they are large';
    is((split / /, stored()->{b})[2], $big, '... also in the key');
};

subtest 'the sum of many' => sub {
    $redis->flush;
    my @many = map { "m$_" } 1 .. 9;
    ask($many[$_], 1, 1, at => $now + $_) for 0 .. 8;
    is stored_sum, undef, 'not of nine';
    is_deeply ask('m10', 1, 3, at => $now + 9), [3, 9, 1], 'a tenth';
    is stored_sum, join(':', 12, $now + $ttl, $now + 9 + $ttl), '... has to do with all, and says what they have';
    my $before = $redis->calls('hgetall');
    is_deeply ask('m11', 1, 20, at => $now + 10), [8, 12, 1], 'an eleventh';
    is_deeply ask('m11', 2, 4, at => $now + 11), [4, 12, 2], 'fewer';
    is_deeply ask('m2', 2, 0, at => $now + 12), [0, 15, 2], 'none';
    is_deeply ask('m2', 3, 9, at => $now + 13), [5, 15, 3], 'again';
    is_deeply ask('m11', 1, 9, at => $now + 14), [4, 16, 2], 'an earlier call';
    is_deeply ask('m11', 3, 0, least => 0, at => $now + 15), [0, 16, 3], 'a number that stays';
    is_deeply ask('m12', 1, 0, at => $now + 16), [0, 16, 1], 'a question';
    is stored_sum, join(':', 16, $now + $ttl, $now + 15 + $ttl), '... all in the sum';
    is $redis->calls('hgetall'), $before, '... which no call had to make anew';
    is_deeply ask('m10', 2, 20, at => $now + $ttl), [8, 12, 2], 'once a deadline has passed';
    is $redis->calls('hgetall'), $before + 1, '... all are read';
    is stored_sum, join(':', 20, $now + 2 + $ttl, $now + 2 * $ttl), '... and summed up';
    ok $redis->expires_in('k', $ttl + 1000), 'the key lives as long as the last';
    my $right = stored_sum;
    for my $value ('', 'x', '5', '5:6', "5 $now 1", (' ' . $right), "$right\n", "-$right", ('9' x 16 . ":$now:$now"), "0:$now:" . ($now + 2 * $ttl),
        '0:' . ($now + 3 * $ttl + $skew) . ':' . ($now + 3 * $ttl + $skew), '0:' . ($now + $ttl + 9) . ':' . '9' x 15) {
        $redis->cmd('HSET', 'k', '+', $value);
        is_deeply ask('m10', 3, 8, at => $now + $ttl), [8, 12, 3], "'$value' is no sum";
        is stored_sum, $right, '... and replaced';
    }
    ask($_, 9, 0, at => $now + $ttl) for @many, 'm11';
    is_deeply ask('m10', 9, 0, at => $now + $ttl), [0, 0, 9], 'when the last gives back';
    is $redis->cmd('EXISTS', 'k'), 0, '... nothing stays';
    ask("n$_", 1, 1) for 1 .. 12;
    ask("n$_", 2, 0) for 1 .. 9;
    ask('n10', 2, 5);
    is stored_sum, undef, 'of few there is no sum any more';
    ask("n$_", 3, 1) for 1 .. 9;
    is_deeply ask('n9', 4, 20), [5, 15, 4], '... nor is an old one believed when they are many again';
};

subtest 'what others have stored' => sub {
    my $later = $now + 1000;
    for my $value ('', 'x', '5', "5 $later", "5 $later 1 1", "-5 $later 1", "1.5 $later 1", "1e3 $later 1", "0x5 $later 1", " 5 $later 1",
        "5 $later 1\n", "5 $later.5 1", "5 -1 1", "5 $later -1", "5  $later 1", "nan $later 1", "inf $later 1", ('9' x 13) . " $later 1",
        ('9' x 400) . " $later 1", '5 ' . '9' x 15 . ' 1', '5 ' . '9' x 400 . ' 1', "5 $later " . '1' x 16, "5 $later " . ($now + 1e13 + 1), '5 0 1',
        '5 ' . ($now + $ttl + $skew + 1) . ' 1') {
        my $shown = substr $value, 0, 40;
        put other => $value;
        is_deeply ask('a', 1, 20), [20, 0, 1], "'$shown' of another machine is nothing";
        is_deeply stored(), {a => text(20, 1)}, '... and is removed';
        put a => $value;
        my $answer = ask('a', 1, 5);
        is_deeply $answer, [5, 0, 1], "'$shown' of the machine itself";
        is_deeply stored(), {a => text(5, 1)}, '... is replaced';
    }
    put other => '15 ' . ($now + $ttl + $skew) . ' 1';
    is_deeply ask('a', 1, 20), [5, 15, 1], 'a deadline as late as can be is believed';
    put other => '1000000000000 ' . ($now + 500) . ' 1';
    is_deeply ask('a', 2, 20), [0, '1000000000000', 2], 'so are as many slots as a limit may have';
    is_deeply ask('a', 3, 20, at => $now + 500), [20, 0, 3], '... until their deadline';
    put a => '5 ' . ($now + 500) . ' ' . ($now + 1e13);
    is_deeply ask('a', 4, 9), [5, 0, $now + 1e13], 'a number from nowhere stands';
    is_deeply ask('a', '1000000000000000', 9), [9, 0, '1000000000000000'], '... until the machine goes on from there';
    put a => 'x', other => 'y';
    ask('a', 5, 0);
    is $redis->cmd('EXISTS', 'k'), 0, 'nothing is left of what cannot be read';
    for my $with (['SET', 'k', 'x'], ['RPUSH', 'k', 1, 2], ['SADD', 'k', 1], ['ZADD', 'k', 1, 'a']) {
        $redis->flush;
        $redis->cmd(@$with);
        is_deeply ask('a', 1, 20), [20, 0, 1, 1], "what $with->[0] made gives way, which the answer says";
        is_deeply stored(), {a => text(20, 1)}, '... to the slots';
    }
};

subtest 'the time of Redis' => sub {
    $redis->flush;
    my $ask = sub ($me, $number, $ttl, $want) { $redis->cmd('EVALSHA', $hold, 1, 'k', $me, $number, 20, $want, 1, $ttl) };
    is_deeply $ask->('a', 1, 60_000, 15), [15, 0, 1], 'slots';
    my $left = (split / /, stored()->{a})[1] - time * 1000;
    ok $left > 50_000 && $left < 62_000, '... for so long';
    is_deeply $ask->('b', 1, 30_000, 20), [5, 15, 1], 'which another finds';
    $redis->flush;
    $ask->('a', 1, 100, 20);
    wait_until { $ask->('b', 1, 100, 20)->[0] == 20 } what => 'all slots of a machine that is silent';
    pass 'a newcomer has all slots';
};

# Holders as a machine is one: fewer slots first here, then in Redis; more the other way. Calls are answered, lost before or after Redis
# took them, come late, or twice, in any order; machines die with calls under way. Time is the test's own.
subtest 'at random' => sub {
    $redis->flush;
    my ($seed, $limit, $life, $late) = ($ENV{SEED} // int rand 1e9, 40, 3000, 500);
    note "SEED=$seed";
    srand $seed;
    my ($at, $names, $calls, $most, $sums, $false_sums, @machines, @under_way) = ($now, 0, 0, 0, 0, 0);
    my $run_call = sub ($call) {
        $calls++;
        return ask($call->{of}{name}, $call->{number}, $call->{want}, least => $call->{least}, limit => $limit, ttl => $life, at => $at);
    };
    my $new = sub { return {name => 'm' . ++$names, number => int rand 1000, held => 0, runs => 0, lapse => 0, lost => 0} };
    my $step = sub ($machine) {
        $machine->{held} = 0 if $at >= $machine->{lapse};
        # A late call must not count what has to end before it: it would be over the limit with what others got since.
        $machine->{runs} = $at + $late < $machine->{lapse} ? int rand $machine->{held} + 1 : 0;
        my $want = rand() < 0.2 ? $machine->{runs} : $machine->{runs} + int rand 15;
        $machine->{held} = $want if $want < $machine->{held};
        my $least = $machine->{runs} + 1;
        $least = 0 if $machine->{runs} == 0 && $machine->{lost};
        my $call = {of => $machine, number => ++$machine->{number}, want => $want, least => $least, until => $at + $late};
        my $fate = rand;
        if ($fate < 0.7) {
            my $answer = $run_call->($call);
            die "not what it wants: @$answer" if $answer->[2] != $call->{number} || $answer->[0] > $want;
            @$machine{qw(held lapse)} = ($answer->[0], $at + $life);
            $run_call->($call) if rand() < 0.1;
        } else {
            $machine->{lost} = 1;
            $run_call->($call) if $fate < 0.8;
            push @under_way, $call if $fate > 0.85;
        }
        return;
    };
    my $check = sub {
        my ($held, $fields) = (0, stored());
        my %slots = map { my ($slots, $deadline) = split / /, $fields->{$_}; $deadline > $at ? ($_ => $slots) : () } keys %$fields;
        $held += $_ for values %slots;
        my ($sum, $first) = split /:/, stored_sum() // '';
        if ($sum && $first > $at) {
            $sums++;
            $false_sums++ if $sum != $held || grep { (split / /)[1] < $first } values %$fields;
        }
        $most = $held if $held > $most;
        for my $machine (@machines) {
            next if $at >= $machine->{lapse} || $machine->{held} <= ($slots{$machine->{name}} // 0);
            fail "$machine->{name} believes in $machine->{held} slots, SEED=$seed";
            return 0;
        }
        return $held <= $limit;
    };
    @machines = map { $new->() } 1 .. 12;
    my $sound = 1;
    for (1 .. 6000) {
        $at += int rand 40;
        $machines[rand @machines] = $new->() if rand() < 0.01;
        $step->($machines[rand @machines]);
        @under_way = grep { $_->{until} >= $at } @under_way;
        $run_call->(splice @under_way, rand @under_way, 1) if @under_way && rand() < 0.5;
        $sound &&= $check->();
    }
    ok $sound, "12 machines never hold more than $limit slots in $calls calls";
    is $most, $limit, '... but all of them';
    ok $sums > 1000, "the sum was stored $sums times";
    is $false_sums, 0, '... and right each time';
    $at += $life;
    my $newcomer = $new->();
    is_deeply $run_call->({of => $newcomer, number => 1, want => 100, least => 1}), [$limit, 0, 1], 'after a silence a newcomer has them all';
};

subtest 'what Redis refuses' => sub {
    $redis->flush;
    $redis->cmd('ACL', 'SETUSER', 'default', '-hgetall');
    my $answer = ask('a', 1, 1);
    ok ref $answer eq 'RateLimit::RESP::Error', 'is told as it is';
    $redis->cmd('ACL', 'SETUSER', 'default', '+hgetall');
    is_deeply ask('a', 1, 1), [1, 0, 1], '... and passes';
};

done;
