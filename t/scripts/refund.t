# lua/refund.lua in a real Redis: what is given back goes only to the window it came from, and never below zero.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $refund = $redis->script(project_file('lua/refund.lua'));
my $reset  = 1_700_003_600_123;

sub refund ($cost, $of = $reset, @keep) { return $redis->ask('EVALSHA', $refund, 1, 'k', $cost, $of, @keep) }

sub hold (@fields) { return $redis->hold_only('k', 500_000, @fields) }

hold used => 9, reset => $reset;
is_deeply refund(4), [5, $reset], 'given back';
is_deeply $redis->hash('k'), {used => 5, reset => $reset}, 'and stored';
ok $redis->expires_in('k', 500_000), 'the expiry stays';
is_deeply refund(0), [5, $reset], 'nothing';
is_deeply refund(3, $reset + 1), [0, 0], 'to another window';
is_deeply refund(3, $reset - 1), [0, 0], 'or an earlier one: no';
is $redis->hash('k')->{used}, 5, 'that one stays';
for (5, 8) {
    hold used => 5, reset => $reset;
    is_deeply refund($_), [0, 0], "$_ of 5: nothing is left";
    is $redis->cmd('EXISTS', 'k'), 0, 'and there is no window';
}
for (5, 8, 9_000_000_000_000_000) {
    hold used => 5, reset => $reset;
    is_deeply refund($_, $reset, 'keep'), [0, $reset], "$_ of 5, and the window is to stay";
    is_deeply $redis->hash('k'), {used => 0, reset => $reset}, 'it does';
    ok $redis->expires_in('k', 500_000), '... for as long as it would have';
    is_deeply refund(1, $reset, 'keep'), [0, $reset], '... and has nothing to give back';
}
is_deeply refund(1, $reset + 1, 'keep'), [0, 0], 'another window is not there';
hold used => 0, reset => $reset;
is_deeply refund(0), [0, 0], 'nor where nothing was used';
is $redis->cmd('EXISTS', 'k'), 0, 'is there one';
hold used => 5, reset => $reset, whose => 'not ours';
is_deeply refund(8), [0, $reset], 'never below zero';
is_deeply $redis->hash('k'), {used => 0, reset => $reset, whose => 'not ours'}, 'a key with another field stays';
is_deeply refund(1), [0, $reset], 'again';

my sub numbered ($number, $cost, @keep) { return refund($cost, $reset, @keep ? @keep : '', 'a', $number) }
hold used => 9, reset => $reset;
is_deeply numbered(3, 2), [7, $reset], 'a call with a number';
is_deeply $redis->hash('k'), {used => 7, reset => $reset, 'r:a' => 3}, '... which is stored';
is_deeply numbered(3, 2), [7, $reset], '... gives back once';
is_deeply numbered(2, 2), [7, $reset], 'nor does an earlier one that comes late give back';
is_deeply numbered(4, 2), [5, $reset], 'the next one does';
is_deeply refund(1, $reset, '', 'b', 1), [4, $reset], '... and another caller';
is_deeply numbered(5, 4, 'keep'), [0, $reset], 'all of it, and the window is to stay';
hold used => 4, reset => $reset, 'r:a' => 4, 'r:b' => 1, 'g:b' => "7 4 $reset";
is_deeply numbered(5, 4), [0, 0], 'all of it: nobody holds anything';
is $redis->cmd('EXISTS', 'k'), 0, '... and there is no window';

hold used => 0, reset => $reset;
is_deeply numbered(5, 4, 'keep'), [0, $reset], 'nothing is left to give back';
$redis->cmd('HINCRBY', 'k', 'used', 7);
is_deeply numbered(5, 4, 'keep'), [7, $reset], '... nor what was taken since, when it is sent again';
for ('garbage', '', ' 9', '-9', '9e30', 'inf', '9' x 30, 600_000_006) {
    hold used => 9, reset => $reset, 'r:a' => $_;
    is_deeply numbered(5, 4), [5, $reset], "\"$_\" is no number";
    is $redis->hash('k')->{'r:a'}, 5, '... and gives way';
}

my $time = 1_700_000_000_000_000;
my @old  = map { ("g:$_" => $time - 600_000_001 . " 1 $reset", "r:$_" => $time - 600_000_001) } 1 .. 200;
for my $others (250, 400) {
    hold used => 37, reset => $reset, 'g:new' => $time - 500_000_000 . " 1 $reset", other => 1, @old[0 .. 2 * $others - 1];
    numbered($time, 2);
    my @names = sort grep { !/^(?:used|reset)$/ } keys %{$redis->hash('k')};
    if ($others == 400) {
        refund(1, $reset, '', "next$_", $time) for 1 .. 31;
        @names = sort grep { !/^(?:used|reset)$|next/ } keys %{$redis->hash('k')};
    }
    $others == 250 ? is scalar(@names), 253, 'few numbers of others stay' : is_deeply \@names, [qw(g:new other r:a)], 'of many the old ones are forgotten';
    is $redis->hash('k')->{used}, $others == 250 ? 35 : 35 - 31, '... and nothing else';
}
hold used => 5, reset => $reset;
is_deeply refund(5, $reset + 1), [0, 0], 'all of another window';
is_deeply $redis->hash('k'), {used => 5, reset => $reset}, 'takes nothing from this one';

$redis->flush;
is_deeply refund(3), [0, 0], 'no window';
is $redis->cmd('EXISTS', 'k'), 0, 'none is made';
for my $used ('many', '1.5', '-3', '', '007', '9' x 19, '9' x 30) {
    hold used => $used, reset => $reset;
    is_deeply refund(1), [0, 0], "\"$used\" is no count";
    is $redis->hash('k')->{used}, $used, 'and stays';
}
hold reset => $reset;
is_deeply refund(1), [0, 0], 'nor is none';
hold used => '9000000000000000', reset => $reset;
is_deeply refund(1), ['8999999999999999', $reset], 'the most';
hold used => '9' x 16, reset => $reset;
is_deeply refund('9000000000000000'), [0, 0], 'what increments have counted beyond that is gone with it';
hold used => '1000000000000', reset => $reset;
is_deeply refund(1), [999_999_999_999, $reset], 'big numbers';
is $redis->hash('k')->{used}, '999999999999', 'digit by digit';
$redis->flush;
$redis->cmd('SET', 'k', 'text');
is_deeply refund(1), [0, 0], 'a key that is no hash is no window';
is $redis->cmd('GET', 'k'), 'text', '... and stays';

done;
