# lua/reserve.lua in a real Redis: what is granted, which windows are counted on, and what is stored.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $reserve = $redis->script(project_file('lua/reserve.lua'));
my $now     = 1_700_000_000_123;
my $period  = 3_600_000;
my $reset   = $now + $period;
my $latest  = $reset + 60_000;

# Reserves of a limit of 10 at $now, unless told; the proposal is a period ahead.
sub reserve ($want, $least, %at) {
    my $time = $at{now} // $now;
    my $proposed = $at{proposed} // $time + $period;
    return $redis->ask('EVALSHA', $reserve, 1, 'k', $at{limit} // 10, $want, $least, $time, $proposed,
        $at{latest} // $proposed + 60_000, $at{parts} // ($at{back} ? 1 : ()), $at{back} ? ($at{back}, $at{of} // $reset) : ());
}

sub hold (@fields) { return $redis->hold_only('k', 500_000, @fields) }

subtest 'no window' => sub {
    is_deeply reserve(3, 3), [3, 3, $reset], 'all of it, in a window of the proposal';
    is_deeply $redis->hash('k'), {used => 3, reset => $reset}, 'stored as answered';
    ok $redis->expires_in('k', $period + 1000), 'expires a second after the window';
    $redis->flush;
    is_deeply reserve(11, 11), [0, 0, 0], 'more than the limit: nothing';
    is_deeply reserve(0, 0), [0, 0, 0], 'nothing wanted';
    is_deeply reserve(1, 1, limit => 0), [0, 0, 0], 'a limit of nothing';
    is $redis->cmd('EXISTS', 'k'), 0, 'and no window is opened';
    is_deeply reserve(25, 1), [10, 10, $reset], 'a part of it, where that will do';
};

subtest 'something to give back' => sub {
    hold used => 9, reset => $reset;
    is_deeply reserve(3, 3, back => 4), [3, 8, $reset], 'goes back first';
    is_deeply reserve(6, 6, back => 1), [0, 7, $reset], 'also where nothing is granted';
    is_deeply reserve(1, 1, back => 2, of => $reset - 1), [1, 8, $reset], 'not to a window that was opened since';
    is_deeply reserve(1, 1, back => 50, of => $reset + 1), [1, 1, $reset], 'never below zero';
    is_deeply $redis->hash('k'), {used => 1, reset => $reset}, 'stored as answered';
    ok $redis->expires_in('k', 500_000), 'the expiry stays';
    $redis->flush;
    is_deeply reserve(3, 3, back => 4), [3, 3, $reset], 'nor to none';
};

subtest 'calls with a number' => sub {
    my sub numbered ($number, $want, %at) {
        return $redis->ask('EVALSHA', $reserve, 1, 'k', $at{limit} // 100, $want, $at{least} // $want, $now, $reset, $latest, 1, 0, 0, $at{me} // 'a', $number);
    }
    $redis->flush;
    is_deeply numbered(7, 10), [10, 10, $reset], 'a window is opened';
    is_deeply $redis->hash('k'), {used => 10, reset => $reset, 'g:a' => "7 10 $reset"}, '... and has the number';
    ok $redis->expires_in('k', $period + 1000), '... and expires';
    is_deeply numbered(7, 10), [10, 10, $reset], 'the same number is told the same';
    is_deeply numbered(7, 50), [10, 10, $reset], '... whatever it wants';
    is_deeply numbered(8, 20), [20, 30, $reset], 'the next one takes';
    is_deeply numbered(8, 20, me => 'b'), [20, 50, $reset], '... and another caller';
    is_deeply numbered(7, 10), [0, 50, $reset], 'an earlier one takes nothing';
    is_deeply numbered(9, 60), [0, 50, $reset], 'what does not fit is not granted';
    is_deeply numbered(9, 30), [0, 50, $reset], '... after which an earlier call of that number, that comes late, takes nothing';
    is_deeply numbered(10, 0, least => 0), [0, 50, $reset], 'a call that asks what became of one that has not come';
    is_deeply numbered(10, 30), [0, 50, $reset], '... after which that one takes nothing';
    is_deeply $redis->hash('k'), {used => 50, reset => $reset, 'g:a' => "10 0 $reset", 'g:b' => "8 20 $reset"}, 'all of that is stored';
    hold used => 5, reset => $reset, 'g:a' => "7 10 $reset";
    is_deeply numbered(7, 10), [5, 5, $reset], 'no more is told than is used';
    hold used => 0, reset => $reset, 'g:a' => "7 10 $reset";
    is_deeply numbered(7, 10), [10, 10, $reset], 'where nothing is used any more it takes again';
    hold used => 5, reset => $reset, 'g:a' => '7 10 ' . ($reset - 1);
    is_deeply numbered(7, 10), [10, 15, $reset], 'as in another window';
    hold used => 5;
    is_deeply numbered(7, 10), [10, 15, $reset], 'and in one that increments have made';
    is $redis->hash('k')->{'g:a'}, "7 10 $reset", '... of which the end is noted';
    hold used => 5, reset => $reset, 'g:a' => 'garbage';
    for ('garbage', '', '7', "7 10 $reset ", " 7 10 $reset", "-9 10 $reset", 9e30, "9999999999999999999 10 $reset", 600_000_008 . " 10 $reset") {
        hold used => 5, reset => $reset, 'g:a' => $_;
        is_deeply numbered(7, 10), [10, 15, $reset], "and after garbage, \"$_\"";
    }
    $redis->flush;
    is_deeply numbered(7, 0, least => 0), [0, 0, 0], 'a call that asks what became of one, where there is no window';
    is_deeply $redis->hash('k'), {'g:a' => '7 0 0'}, '... opens none';
    ok $redis->expires_in('k', 60_000), '... and is forgotten after a while';
    is_deeply numbered(7, 10), [0, 0, 0], '... after which that one takes nothing';
    is_deeply numbered(8, 10), [10, 10, $reset], 'the next one opens a window';
    ok $redis->expires_in('k', $period + 1000), '... that lives as long as any';
    is_deeply $redis->hash('k'), {used => 10, reset => $reset, 'g:a' => "8 10 $reset"}, '... and knows the number';
};

subtest 'numbers of many callers' => sub {
    my sub numbered ($me) { return $redis->ask('EVALSHA', $reserve, 1, 'k', 9e9, 1, 1, $now, $reset, $latest, 1, 0, 0, $me, $now * 1000) }
    my sub names () { return grep { /^[gr]:/ } sort keys %{$redis->hash('k')} }
    my @of = map { ("g:$_" => ($now - 600_001) * 1000 . " 1 $reset", "r:$_" => ($now - 600_001) * 1000) } 1 .. 200;
    hold used => 5, reset => $reset, 'g:new' => ($now - 500_000) * 1000 . " 1 $reset", 'r:new' => ($now - 500_000) * 1000, other => 1, @of[0 .. 499];
    numbered('few');
    is scalar(names()), 253, 'few stay';
    hold used => 5, reset => $reset, 'g:new' => ($now - 500_000) * 1000 . " 1 $reset", 'r:new' => ($now - 500_000) * 1000, other => 1, @of;
    numbered('me');
    numbered("next$_") for 1 .. 31;
    is_deeply [grep { !/next/ } names()], [qw(g:me g:new r:new)], 'of many the old ones are forgotten, within a few callers';
    is $redis->hash('k')->{used}, 6 + 31, '... and nothing else';
};

subtest 'an open window' => sub {
    hold used => 4, reset => $reset;
    is_deeply reserve(3, 3, now => $now + 1000), [3, 7, $reset], 'adds, keeps the reset';
    ok $redis->expires_in('k', 500_000), 'the expiry stays';
    is_deeply reserve(4, 4), [0, 7, $reset], 'what does not fit is not granted';
    is_deeply reserve(4, 1), [3, 10, $reset], 'but a part of it, where that will do';
    is_deeply reserve(1, 1), [0, 10, $reset], 'at the limit nothing is left';
    is_deeply reserve(0, 0), [0, 10, $reset], 'nothing wanted';
    is_deeply reserve(5, 1, limit => 3), [0, 10, $reset], 'over a lowered limit neither';
    is_deeply reserve(5, 5, limit => 15), [5, 15, $reset], 'a raised one leaves more';
    is_deeply reserve(1, 1, limit => 99, now => $reset - 1), [1, 16, $reset], 'open one millisecond before its end';
    is_deeply reserve(1, 1, now => $reset), [1, 1, $reset + $period], 'and not at its end';
    hold used => 2, reset => $latest;
    is_deeply reserve(1, 1, latest => $latest), [1, 3, $latest], 'a reset as late as can be is believed';
};

subtest 'a part of what is left' => sub {
    hold used => 1, reset => $reset;
    is_deeply reserve(2, 1, parts => 4), [2, 3, $reset], 'no more than wanted';
    is_deeply reserve(5, 1, parts => 4), [1, 4, $reset], 'nor than the part, rounded down';
    is_deeply reserve(5, 2, parts => 4), [2, 6, $reset], 'but at least the least';
    is_deeply reserve(5, 5, parts => 4), [0, 6, $reset], 'or nothing';
    is_deeply reserve(5, 1, parts => 4), [1, 7, $reset], 'one where the part is less';
    is_deeply reserve(5, 1, parts => 4, limit => 7), [0, 7, $reset], 'none at the limit';
};

subtest 'windows that are not counted on' => sub {
    my %fields = (
        'ended this millisecond'    => [used => 9, reset => $now],
        'a millisecond past latest' => [used => 9, reset => $latest + 1],
        'a reset far off'           => [used => 9, reset => '9' x 30],
        'a word for a reset'        => [used => 9, reset => 'soon'],
        'a reset with an exponent'  => [used => 9, reset => '1.7000036e+12'],
        'a negative reset'          => [used => 9, reset => "-$reset"],
        'a word for a count'        => [used => 'many', reset => $reset],
        'a fraction of a count'     => [used => '1.5', reset => $reset],
        'a negative count'          => [used => -100, reset => $reset],
        'a count too large'         => [used => '9223372036854775807', reset => $reset],
        'no count'                  => [reset => $reset],
    );
    hold used => '9' x 16, reset => $reset;
    is_deeply reserve(1, 1), [0, '9000000000000000', $reset], 'the greatest count is one';
    for my $name (sort keys %fields) {
        hold @{$fields{$name}};
        is_deeply reserve(11, 11), [0, 0, 0], "$name: what does not fit leaves it alone";
        is_deeply reserve(5, 5), [5, 5, $reset], $name;
        is_deeply $redis->hash('k'), {used => 5, reset => $reset}, "$name: stored anew";
        ok $redis->expires_in('k', $period + 1000), "$name: new expiry";
    }
};

subtest 'a count without a reset was charged by increments that found no key' => sub {
    hold used => 4;
    is_deeply reserve(7, 7), [0, 4, $reset], 'it counts in the window opened here, also where nothing is granted';
    ok $redis->expires_in('k', $period + 1000), 'which ends';
    hold used => 4;
    is_deeply reserve(3, 3), [3, 7, $reset], 'and where it is';
    is_deeply $redis->hash('k'), {used => 7, reset => $reset}, 'stored as answered';
};

subtest 'big numbers are stored digit by digit' => sub {
    $redis->flush;
    my $most = 1_000_000_000_000;
    is_deeply reserve($most - 1, 1, limit => $most), [$most - 1, $most - 1, $reset];
    is $redis->hash('k')->{used}, '999999999999';
    is_deeply reserve(5, 1, limit => $most), [1, $most, $reset], 'the last one';
    is $redis->hash('k')->{used}, '1000000000000';
};

subtest 'no more than the limit, in whatever order' => sub {
    $redis->flush;
    my $granted = 0;
    $granted += reserve(1 + $_ % 7, 1 + $_ % 3, limit => 1000)->[0] for 1 .. 600;
    is $granted, 1000, 'all of it is granted';
    is $redis->hash('k')->{used}, 1000, 'and stored';
};

done;
