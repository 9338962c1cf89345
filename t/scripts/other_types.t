# Whatever other type is in the place of a window, a bucket or slots: who charges or reserves replaces it, and says so by one number more. Who repairs, gives back,
# looks, or gets nothing finds none there, and leaves it as it is.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my %digest = map { $_ => $redis->script(project_file("lua/$_.lua")) } qw(charge reserve repair refund bucket hold);
my $now    = 1_700_000_000_123;
my @times  = ($now, $now + 3_600_000, $now + 3_660_000);
my @clock  = (int($now / 1000), $now % 1000 * 1000);
my @token  = (100_000_000, 2_000_000_000);    # ten a second, and a burst of twenty
my @none   = ('') x 3;
my @mark   = (1 << 30, 7, $now * 1000);
my %held   = (
    hash => ['HSET', 'k', 'foo', 1], string => ['SET', 'k', '12'], list => ['RPUSH', 'k', 1], set => ['SADD', 'k', 'used'], zset => ['ZADD', 'k', 1, 'used'],
    stream => ['XADD', 'k', '*', 'used', 1],
);
# How many numbers the answers have, and what the scripts store.
my %words = (charge => 2, reserve => 3, repair => 2, refund => 2, bucket => 7, hold => 3);
my %own   = (bucket => 'string', map { $_ => 'hash' } qw(charge reserve repair refund hold));

# Each call has the begin of its answer, and the type of the key afterwards: by default the script's own, and then the answer says that the
# script has replaced another.
my %calls = (
    'a charge'                      => [['charge',  3, @times],                              [3, $times[1]]],
    'a reservation'                 => [['reserve', 10, 3, 1, @times],                       [3, 3, $times[1]]],
    'a numbered one'                => [['reserve', 10, 3, 1, @times, 1, 0, 0, 'me', 7],     [3, 3, $times[1]]],
    'what is above the limit'       => [['reserve', 10, 11, 11, @times],                     [0, 0, 0], 'none'],
    'a reservation of nothing'      => [['reserve', 10, 0, 0, @times],                       [0, 0, 0], 'left'],
    'a repair'                      => [['repair',  @times],                                 [0, 0], 'left'],
    'a refund'                      => [['refund',  3, $times[1]],                           [0, 0], 'left'],
    'a numbered refund'             => [['refund',  3, $times[1], '', 'me', 7],              [0, 0], 'left'],
    'tokens'                        => [['bucket',  @token, 3, 3, 1, @none, @clock],         [3, 17, 3 * $token[0], 0]],
    'a charge to a bucket'          => [['bucket',  @token, 30, 0, 0, @none, @clock],        [30, 0, $token[1], 0]],
    'more than a bucket holds'      => [['bucket',  @token, 21, 21, 1, @none, @clock],       [0, 20, 0, $token[0]], 'left'],
    'a look at a bucket'            => [['bucket',  @token, 0, 0, 1, @none, @clock],         [0, 20, 0, 0], 'left'],
    'what lets a bucket live on'    => [['bucket',  @token, 0, 0, 0, @none, @clock],         [0, 20, 0, 0], 'left'],
    'tokens that go back'           => [['bucket',  @token, -3, 0, 1, @none, @clock],        [0, 20, 0, 0], 'left'],
    'a refund to a bucket'          => [['bucket',  @token, -3, 0, 0, @mark, @clock],        [0, 20, 0, 0], 'left'],
    'slots'                         => [['hold', 'me', 7, 20, 3, 1, 30_000, @clock],         [3, 0, 7]],
    'what runs in any case'         => [['hold', 'me', 7, 0, 0, 3, 30_000, @clock],          [2, 0, 7]],
    'slots that go back'            => [['hold', 'me', 7, 20, 0, 1, 30_000, @clock],         [0, 0, 7], 'left'],
    '... with a number that stays'  => [['hold', 'me', 7, 20, 0, 0, 30_000, @clock],         [0, 0, 7]],
    'a slot that no limit leaves'   => [['hold', 'me', 7, 0, 1, 1, 30_000, @clock],          [0, 0, 7], 'left'],
    'a look at slots'               => [['hold', 'me', -1, 0, 0, 0, 30_000, @clock],         [0, 0, 0], 'left'],
);
for my $type (sort keys %held) {
    for my $call (sort keys %calls) {
        my ($words, $begins, $leaves) = @{$calls{$call}};
        my ($script, @arguments) = @$words;
        next if $type eq $own{$script};
        my @command = ('EVALSHA', $digest{$script}, 1, 'k', @arguments);
        $redis->cmd('DEL', 'k');
        $redis->cmd(@{$held{$type}});
        my $before = $redis->cmd('DUMP', 'k');
        my @answer = @{$redis->ask(@command)};
        my $left   = ($leaves // '') eq 'left';
        is_deeply [@answer[0 .. $#$begins]], $begins, "$type: $call";
        is_deeply [@answer[$words{$script} .. $#answer]], $left ? [] : [1], $left ? '... says nothing of it' : '... says that it gave way';
        if ($left) {
            ok $redis->cmd('DUMP', 'k') eq $before, '... leaves it as it is';
            is $redis->cmd('PTTL', 'k'), -1, '... for ever';
            next;
        }
        is $redis->cmd('TYPE', 'k'), $leaves // $own{$script}, '... leaves its own';
        cmp_ok $redis->cmd('PTTL', 'k'), '>', 0, '... with its expiry' if !$leaves;
        is_deeply [@{$redis->ask(@command)}[$words{$script}]], [undef], '... and says it once';
    }
}

done;
