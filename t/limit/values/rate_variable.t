# A rate from a variable is parsed for each request: plans by a map; empty: the limit does not apply;
# malformed: logged and treated as rate_limit_on_error says.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        map $http_x_plan $rate { free 2r/m; pro 5000r/h; none 0r/s; unlimited ""; default $http_x_plan; }
        rate_limit_store main; rate_limit_key $http_x_key; log_format outcome $rate_limit_status;',
    server => 'location / { rate_limit $rate; access_log %%DIR%%/outcome outcome; }
        location /deny/ { alias %%DIR%%/html/; rate_limit $rate; rate_limit_on_error deny; }
        location /teapot/ { alias %%DIR%%/html/; rate_limit $rate; rate_limit_on_error deny;
            rate_limit_error_status 418; }
        location /part/ { alias %%DIR%%/html/; rate_limit ${arg_n}r/h name=part; rate_limit 9r/h name=whole; }',
);

sub ask ($plan, $uri = '/x') { return $nginx->get($uri, 'X-Key' => 'a', 'X-Plan' => $plan) }

is_deeply [map { ask('free')->status } 1 .. 3], [200, 200, 429], 'the free plan';
is_deeply [@{limits(ask('pro'))}{qw(limit used)}], [5000, 1], 'the other plan has a window of its own';
is_deeply [@{limits(ask('none'))}{qw(limit used remaining)}], [0, 0, 0], '0r/s rejects';
shows ask('unlimited'), 200, {}, 'an empty rate: the limit does not apply';
is limits($nginx->get('/part/x?n=7', 'X-Key' => 'a'))->{limit}, 7, 'a rate in part from a variable';

for my $rate (qw(5 5r/x r/s 5r/0s -1r/s 1.5r/s 5r/367d 1000000000001r/s), '5 r/s', '9' x 20 . 'r/s') {
    shows ask($rate), 200, {}, "\"$rate\" is malformed: allowed, without headers";
    is ask($rate, '/deny/x')->status, 503, 'denied where errors deny';
}
is ask('5', '/teapot/x')->status, 418, 'with rate_limit_error_status';
is limits($nginx->get('/part/x?n=x', 'X-Key' => 'a'))->{resource}, 'whole', 'another limit goes on';
is limits(ask('1000000000000r/366d'))->{limit}, 1_000_000_000_000, 'the largest rate';
ok $nginx->count_log(qr/rate limit "default" in .*nginx\.conf:\d+ could not be checked: invalid rate "5": a rate has the form/),
    'logged';
$nginx->stop;
is_deeply [$nginx->lines('outcome')],
    [qw(PASSED PASSED REJECTED PASSED REJECTED -), ('ERROR_ALLOWED') x 10, 'PASSED'], '$rate_limit_status';
is_deeply [sort $redis->keys],
    [map { "rl:$_:a" } qw(default/31622400 default/3600 default/60 part/3600 whole/3600)],
    'windows by period';

done;
