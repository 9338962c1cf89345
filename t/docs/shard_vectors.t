# docs/redis.md: its table of keys and shards is what nginx does, and what the unit test calls published.

use RateLimit::Test;

my ($table) = project_file('docs/redis.md') =~ /<!-- vectors -->\n\|.*\n\|[-|]+\n((?:\|.*\n)+)/;
my @vectors = map { [/^\| `(.*)` \| (\w) \| (\w) \|$/] } split /\n/, $table;
is scalar(grep { @$_ == 3 } @vectors), 8, 'the table can be read';

my $redis = RateLimit::Redis->start;
my $to    = 'primary=' . $redis->address;
my $nginx = RateLimit::Nginx->start(
    http => "rate_limit_redis equal { shard b $to; shard c $to; shard a $to; }
        rate_limit_redis weighted { shard a $to weight=1; shard b $to weight=2; shard c $to weight=4; }",
    server => 'location / {
        rate_limit 5r/m key=$http_x_key store=$http_x_store;
        add_header X-Shard $rate_limit_shard always;
    }',
);
my $http = $nginx->http;
for my $vector (@vectors) {
    my ($key, $equal, $weighted) = @$vector;
    is $http->get('/x', 'X-Key' => $key, 'X-Store' => 'equal')->header('X-Shard'),    $equal,    "$key: equal weights";
    is $http->get('/x', 'X-Key' => $key, 'X-Store' => 'weighted')->header('X-Shard'), $weighted, "$key: weights 1, 2, 4";
}

my $unit = project_file('t/unit/shard_choice_test.cpp');
is_deeply [grep { my ($k, $e, $w) = @$_; $unit !~ /\{"\Q$k\E", "$e", "$w"\}/ } @vectors], [], 'the unit test has them too';

done;
