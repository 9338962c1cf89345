# README.md: it is short, and its examples do what it says.

use RateLimit::Test;

my $readme = project_file('README.md');
cmp_ok scalar(() = $readme =~ /\n/g), '<=', 200, 'it has no more than 200 lines';

my $example = code($readme, 'full example');
my $shards  = RateLimit::Shards->start(2, replicas => 2);
my @nodes   = $shards->all;
$example =~ s/^load_module .*\n//m or fail('load_module');
$example =~ s/10\.0\.0\.(\d):6379/$nodes[$1 - 1]->address/ge;
$example =~ s/rate_limit_redis main \{\K/ check_timeout 9s; connect_timeout 9s;/ or fail('rate_limit_redis');
$example =~ s/listen 80;/listen 127.0.0.1:%%PORT%%;/ or fail('listen');
$example =~ s{root   /var/www/html;}{root %%DIR%%/html;} or fail('root');
$example =~ s/worker_processes auto;/worker_processes 1;/ or fail('worker_processes');
$example =~ s/http \{\n/http {\n%%HTTP%%\n/;
my $nginx = RateLimit::Nginx->start(conf => $example);
is_deeply [@{limits($nginx->get('/x'))}{qw(limit used resource)}], [60, 1, 'core'], 'the full example: an address';
is_deeply [@{limits($nginx->get('/x', 'X-API-Key' => 'k-mona'))}{qw(limit used resource)}], [5000, 1, 'core'], 'a known key';
is_deeply [@{limits($nginx->get('/search/x'))}{qw(limit resource)}], [30, 'search'], 'two limits';
is_deeply limits($nginx->get('/status/x')), {}, 'and none';
wait_until { $shards->find('rl:core/3600:user:mona') } what => "mona's window, under the key that docs/redis.md shows";

my $local = RateLimit::Nginx->start(server => code($readme, 'small example'), clock => 1);
# How many of 20 requests pass so many seconds after the begin.
my sub passed_at ($after) {
    $local->stand_at(1_800_000_000 + $after);
    my @answers = map { $local->get('/api/') } 1 .. 20;
    is_deeply [map { limits($_)->{resource} } @answers], [('hour') x 20], "the small example, after $after s: headers show the hour";
    return scalar grep { $_->status != 429 } @answers;
}
is_deeply [map { passed_at($_) } 0, 0.5, 0.6, 1, 3], [10, 5, 1, 4, 10],
    '... ten at once, and one more every 100 ms, where a window would let none pass, and then ten';
is $local->get('/x')->header('X-RateLimit-Limit'), undef, 'and other locations are not limited';

done;
