# lua/overrides.lua in a real Redis: replaces version and text only where the version is the one that the caller has read.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $replace = $redis->script(project_file('lua/overrides.lua'));

sub replace (@arguments) { return $redis->ask('EVALSHA', $replace, 1, 'k', @arguments) }

is_deeply replace(5, 6, 'six'), [0, 0], 'nothing is there';
is $redis->cmd('EXISTS', 'k'), 0, '... and nothing is made';
is_deeply replace('', 6, 'six'), [1, 0], 'the first';
is_deeply $redis->hash('k'), {version => 6, text => 'six'}, '... is stored';
is_deeply replace($_, 7, 'seven'), [0, 0], "not in place of version '$_'" for '', 5, 7, '06';
is_deeply $redis->hash('k'), {version => 6, text => 'six'}, 'all is as it was';
is_deeply replace(6, 7, ''), [1, 0], 'in place of the version that is there';
is_deeply $redis->hash('k'), {version => 7, text => ''}, '... is stored';
is $redis->cmd('PTTL', 'k'), -1, '... for ever';
done;
