# While Redis cannot be asked rate_limit_on_error decides, and not what waits for Redis here: allow rejects nobody and
# deny lets nobody in. Only clients that had reached the limit in Redis itself stay rejected. When Redis is back it gets all
# charges.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(appendonly => 1);
$redis->stop;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, always_checks()) . '
        rate_limit_key $http_x_key; rate_limit_store main; rate_limit 5r/h;
        add_header X-Outcome $rate_limit_status always;',
    server => 'location / { rate_limit_on_error allow; } location /deny { rate_limit_on_error deny; }
        location /code { rate_limit_on_error deny; rate_limit_error_status 529; }',
);
my $http = $nginx->http;
sub get ($count, $key, $uri = '/x') { return map { $http->get($uri, 'X-Key' => $key) } 1 .. $count }

my @unknown = get(12, 'new');
is_deeply outcomes(@unknown), {'200 ERROR_ALLOWED' => 12}, 'Redis is away from the start: allow lets 12 of 5 pass';
is_deeply [map { limits($_) } @unknown], [({}) x 12], 'without headers, as no window is known';
for my $case (['/deny', 503], ['/code', 529]) {
    my ($uri, $status) = @$case;
    my @denied = get(12, 'denied', $uri);
    is_deeply outcomes(@denied), {"$status ERROR_DENIED" => 12}, "deny answers with $status";
    is_deeply [map { limits($_) } @denied], [({retry_after => 1}) x 12], 'and Retry-After, without other headers';
}
is_deeply outcomes(get(12, 'new', '/deny')), {'503 ERROR_DENIED' => 12}, 'deny denies who has charges waiting';

$redis->restart;
wait_until { $redis->used('new') == 12 } what => 'all that waited';
wait_until { my ($r) = get(1, 'up'); $r->header('X-Outcome') ne 'ERROR_ALLOWED' } what => 'Redis to be asked again';
is_deeply statuses(get(2, $_)), {200 => 2}, "2 requests of $_" for qw(some deny);
is_deeply statuses(get(7, 'full')), {200 => 5, 429 => 2}, 'a client at its limit';
wait_until { $redis->used('some') == 2 && $redis->used('deny') == 2 && $redis->used('full') == 5 } what => 'their charges';

$redis->kill;
my @some = get(12, 'some');
is_deeply outcomes(@some), {'200 ERROR_ALLOWED' => 12}, 'it goes away after 2 of 5: allow lets 12 more pass';
is_deeply [map { limits($_)->{used} } @some], [3 .. 14], 'and counts them in the window that is known';
is_deeply outcomes(get(12, 'deny', '/deny')), {'503 ERROR_DENIED' => 12}, 'deny lets none pass';
is_deeply outcomes(get(12, 'deny', '/code')), {'529 ERROR_DENIED' => 12}, 'whatever the status';
my @full = map { get(6, 'full', $_) } qw(/x /deny);
is_deeply outcomes(@full), {'429 REJECTED' => 12}, 'who was at the limit in Redis is rejected from memory';
is_deeply [grep { limits($_)->{used} != 5 } @full], [], 'by what Redis had said';

$redis->restart;
wait_until { $redis->used('some') == 14 } what => 'all that waited';
$nginx->stop;
is_deeply {map { $_ => $redis->used($_) } qw(new some deny full denied)},
    {new => 12, some => 14, deny => 2, full => 5, denied => 0}, 'each once';

done;
