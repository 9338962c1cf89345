# A limit whose variable burst is empty is a window that is charged before the request, as a bucket is, although the block's mode is check_charge: Redis knows
# of a running request, and a cost that does not fit is rejected. The same holds where the bucket leases: the window takes no tokens in advance.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, workers => 2,
    http   => redis_block('main', $redis, always_checks()) . 'rate_limit_key all; rate_limit_mode check_charge; rate_limit_cost $arg_c;
        add_header X-Source $rate_limit_source always;',
    server => 'location /burst { rate_limit 4r/h burst=$arg_b name=burst store=main; proxy_pass http://%%UP%%; }
        location /local { rate_limit 4r/h burst=$arg_b name=local; proxy_pass http://%%UP%%; }
        location /lease { rate_limit 200r/h burst=$arg_b name=lease store=main mode=lease; rate_limit_lease 10; proxy_pass http://%%UP%%; }
        location /check { rate_limit 4r/h name=check store=main; proxy_pass http://%%UP%%; }
        location /refund { rate_limit 4r/h name=refund store=main mode=charge_refund; proxy_pass http://%%UP%%; }',
);

# Returns what Redis has of a running request, and the status of the next request, for which too little is left.
my sub seen ($limit) {
    my $open = $nginx->reach($backend, "/$limit/slow?c=3");
    my $used = $redis->used('all', "$limit/3600");
    $backend->release('gate');
    is $open->response->status, 200, "$limit: one request";
    wait_until { $limit eq 'local' || $redis->used('all', "$limit/3600") >= 3 } what => 'it to be charged';
    return [$used, $nginx->get("/$limit/x?c=3")->status];
}
is_deeply seen('check'),  [0, 200], '... in check_charge is charged at its end, and while anything is left';
is_deeply seen('refund'), [3, 429], '... in charge_refund before, and where it fits';
is_deeply seen('burst'),  [3, 429], '... and so it is where a burst is empty';
is_deeply seen('local'),  [0, 429], '... also in the local store';
is_deeply seen('lease'), [3, 200], '... also where the bucket is one in lease';
is $redis->used('all', 'lease/3600'), 6, '... of which the window takes no batch';

is_deeply [grep { /b:/ } $redis->keys], [], 'none of these is a bucket';
is $nginx->get('/burst/x?c=1&b=4')->status, 200, 'that one is another';
is_deeply [grep { /b:/ } $redis->keys], ['rl:burst/3600b:all'], '... and stored beside the window';
is $redis->used('all', 'burst/3600'), 3, '... which it does not charge';

done;
