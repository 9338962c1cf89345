# lua/overrides.lua in a real Redis: sets and ends one override, each by itself, under a version that grows; drops those that have ended unless somebody has set them
# since; takes no more than there may be; and begins anew only where the version is the one that the caller has found unusable.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $change = $redis->script(project_file('lua/overrides.lua'));

# The fields that there are then.
sub change (@arguments) { return {@{$redis->ask('EVALSHA', $change, 1, 'k', @arguments)}} }

is_deeply change(100, 2, '', 'a/', '1 off'), {version => 100, 'a/' => '1 off'}, 'the first is set';
is_deeply change(50, 2, '', 'a/:k', '1 ban'), {version => 101, 'a/' => '1 off', 'a/:k' => '1 ban'}, 'a machine whose clock is behind raises the version';
is_deeply change(200, 2, '', 'a/:l', '1 ban'), {}, 'there are too many';
is_deeply $redis->hash('k'), {version => 101, 'a/' => '1 off', 'a/:k' => '1 ban'}, '... and nothing has changed';
is_deeply change(200, 2, '', 'a/:k', '1 allow'), {version => 200, 'a/' => '1 off', 'a/:k' => '1 allow'}, 'one that is there is replaced';
is_deeply change(201, 2, '', 'a/:l', '1 ban', 'a/', '1 off', 'a/:k', '1 ban'), {version => 201, 'a/:k' => '1 allow', 'a/:l' => '1 ban'},
    'what has ended goes, but not what was set since';
is_deeply change(202, 2, '', 'a/:l', ''), {version => 202, 'a/:k' => '1 allow'}, 'one ends';
is_deeply change(203, 2, '', 'a/:l', ''), {version => 203, 'a/:k' => '1 allow'}, 'one that is not there';
is $redis->cmd('PTTL', 'k'), -1, 'there is no expiry';

is_deeply change(300, 2, '=202', 'b/', '1 off', 'c/', '1 off'), {version => 300, 'a/:k' => '1 allow', 'b/' => '1 off'}, 'nothing begins anew where the version is another one by now';
is_deeply change(300, 2, '=202', 'b/', '1 off', 'a/:k', '1 allow'), {version => 301, 'a/:k' => '1 allow', 'b/' => '1 off'},
    '... and what the caller knows beside it ends not: somebody else has written it meanwhile';
is_deeply change(300, 2, '=301', 'b/', '1 off', 'b/', '2', 'c/', '1 off'), {version => 300, 'b/' => '1 off', 'c/' => '1 off'}, 'all begins anew';
$redis->cmd('HSET', 'k', 'version', 'nonsense');
is_deeply change(400, 2, '=nonsense', 'b/', '', 'b/', '1 off', 'd/', '1 off'), {version => 400, 'd/' => '1 off'}, '... also after a version that is none';
$redis->cmd('DEL', 'k');
is_deeply change(500, 2, '=', 'b/', '1 off', 'c/', '1 off'), {version => 500, 'b/' => '1 off', 'c/' => '1 off'}, '... and where there is nothing';
is_deeply change(8_999_999_999_999_998, 2, '', 'b/', ''), {version => 8_999_999_999_999_998, 'c/' => '1 off'}, 'great versions are exact';
is_deeply change(1, 2, '', 'c/', ''), {version => 8_999_999_999_999_999}, '... each by one';
done;
