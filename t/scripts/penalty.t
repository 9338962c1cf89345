# lua/penalty.lua in a real Redis: a penalty stands beside a window or a bucket, begins where none runs, lets the key live on, and ends by a word of
# an operator. The other scripts let it stay.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my %of    = map { $_ => $redis->script(project_file("lua/$_.lua")) } qw(penalty charge reserve repair refund bucket);
my $now   = int(time * 1000);
my $reset = $now + 5_000;

my sub window ($life, $at = $now) { return $redis->ask('EVALSHA', $of{penalty}, 1, 'k', 'window', $life, $at) }
my sub bucket ($life) { return $redis->ask('EVALSHA', $of{penalty}, 1, 'b', 'bucket', $life, 0) }
my sub until_of_bucket () { return unpack 'Q>', substr $redis->cmd('GET', 'b'), 24 }
my sub lives ($key, $least) { my $left = $redis->cmd('PTTL', $key); return cmp_ok $left, '>', $least - 5_000, "... and the key lives on" }

is_deeply window(0), [0, 0], 'there is none';
is $redis->cmd('EXISTS', 'k'), 0, '... and to ask makes none';
is_deeply window(60_000), [60_000, 0], 'one begins, where no window is';
is $redis->hash('k')->{until}, $now + 60_000, '... and stands there';
lives('k', 61_000);
is_deeply window(90_000, $now + 10_000), [50_000, 0], 'another one does not prolong it';
is_deeply window(0, $now + 60_000), [0, 0], 'it ends';

$redis->ask('EVALSHA', $of{charge}, 1, 'k', 1, $now, $reset, $reset + 60_000);
is_deeply $redis->hash('k'), {used => 1, reset => $reset, until => $now + 60_000}, 'a window opens beside it';
lives('k', 61_000);
$redis->ask('EVALSHA', $of{reserve}, 1, 'k', 5, 1, 1, $reset + 1, $reset + 5_000, $reset + 65_000);
is_deeply $redis->hash('k'), {used => 1, reset => $reset + 5_000, until => $now + 60_000}, '... another one';
lives('k', 55_000);
$redis->ask('EVALSHA', $of{refund}, 1, 'k', 1, $reset + 5_000);
is $redis->hash('k')->{until}, $now + 60_000, 'all is given back';
$redis->ask('EVALSHA', $of{repair}, 1, 'k', $reset + 6_000, $reset + 9_000, $reset + 70_000);
is $redis->hash('k')->{until}, $now + 60_000, 'a repair';
lives('k', 49_000);

is_deeply window(-1), [0, 1], 'an operator ends it';
is_deeply window(0), [0, 1], '... which it says';
is_deeply window(-1), [0, 1], '... again';
is_deeply window(1_000), [1_000, 0], 'a new one may begin';
$redis->cmd('HSET', 'k', 'until', '9' x 15);
is_deeply window(0), [0, 0], 'one of a clock that was wrong is none';
$redis->cmd('HSET', 'k', 'until', 'nan');
is_deeply window(0), [0, 0], 'nor is a text';
$redis->cmd('SET', 'k', 'x');
is_deeply window(5_000), [0, 0], 'another type has none';
is $redis->cmd('GET', 'k'), 'x', '... and stays';

my @draw = (1_000_000_000, 10_000_000_000);    # a token a second, ten in all
is_deeply bucket(0), [0, 0], 'a bucket without';
is_deeply bucket(60_000), [60_000, 0], 'one begins, where no bucket is stored';
is length $redis->cmd('GET', 'b'), 32, '... with a fourth number';
my $until = until_of_bucket();
my @taken = @{$redis->ask('EVALSHA', $of{bucket}, 1, 'b', @draw, 4, 4, 1)};
is_deeply [@taken[0, 1]], [4, 6], 'what is stored then is a full bucket';
is until_of_bucket(), $until, '... beside which the penalty stays';
lives('b', 60_000);
cmp_ok bucket(0)->[0], '>', 50_000, '... and runs';
is_deeply bucket(-1), [0, 1], 'an operator ends it';
is $redis->ask('EVALSHA', $of{bucket}, 1, 'b', @draw, 1, 1, 1)->[1], 5, 'the bucket is as it was';
is_deeply bucket(0), [0, 1], '... and so is the end';
$redis->cmd('DEL', 'b');
$redis->ask('EVALSHA', $of{bucket}, 1, 'b', @draw, 4, 4, 1);
is length $redis->cmd('GET', 'b'), 24, 'a bucket that has none has three numbers';
bucket(60_000);
is $redis->ask('EVALSHA', $of{bucket}, 1, 'b', @draw, 1, 1, 1)->[1], 5, '... which a penalty leaves alone';

done;
