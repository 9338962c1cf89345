# Whatever type is in a window's place: a charge or a reservation replaces it, and says so; a repair, a refund, and a reservation of nothing find no window, and
# leave it.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my %digest = map { $_ => $redis->script(project_file("lua/$_.lua")) } qw(charge reserve repair refund);
my $now    = 1_700_000_000_123;
my @times  = ($now, $now + 3_600_000, $now + 3_660_000);
my %held   = (
    string => ['SET', 'k', '12'], list => ['RPUSH', 'k', 1], set => ['SADD', 'k', 'used'], zset => ['ZADD', 'k', 1, 'used'], stream => ['XADD', 'k', '*', 'used', 1],
);
my %calls = (
    'a charge'                  => [['charge',  3, @times],                     [3, $times[1], 1]],
    'a reservation'             => [['reserve', 10, 3, 1, @times],              [3, 3, $times[1], 1]],
    'a numbered one'            => [['reserve', 10, 3, 1, @times, 1, 0, 0, 'me', 7], [3, 3, $times[1], 1]],
    'what is above the limit'   => [['reserve', 10, 11, 11, @times],            [0, 0, 0, 1]],
    'a reservation of nothing'  => [['reserve', 10, 0, 0, @times],              [0, 0, 0]],
    'a repair'                  => [['repair',  @times],                        [0, 0]],
    'a refund'                  => [['refund',  3, $times[1]],                  [0, 0]],
    'a numbered refund'         => [['refund',  3, $times[1], '', 'me', 7],     [0, 0]],
);
for my $type (sort keys %held) {
    for my $call (sort keys %calls) {
        my ($words, $answer) = @{$calls{$call}};
        my ($script, @arguments) = @$words;
        my @command = ('EVALSHA', $digest{$script}, 1, 'k', @arguments);
        $redis->cmd('DEL', 'k');
        $redis->cmd(@{$held{$type}});
        is_deeply $redis->ask(@command), $answer, "$type: $call";
        my $left = @$answer > ($script eq 'reserve' ? 3 : 2) ? $answer->[0] ? 'hash' : 'none' : $type;
        is $redis->cmd('TYPE', 'k'), $left, "... leaves: $left";
        is_deeply [@{$redis->hash('k')}{qw(used reset)}], [3, $times[1]], '... a window' if $left eq 'hash';
        ok $redis->expires_in('k', 3_601_000), '... with its expiry' if $left eq 'hash';
    }
}

done;
