# For logs: $rate_limit_all tells every limit that applied, $rate_limit_cost what the shown one charged, and $rate_limit_source who
# decided it.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main', always_checks()) . '
        rate_limit_redis gone { shard g primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_store main; rate_limit_key $arg_k; rate_limit_on_error allow;
        log_format all "$rate_limit_all|$rate_limit_cost|$rate_limit_source";',
    server => 'access_log %%DIR%%/all all;
        location /check { rate_limit 3r/d name=check; }
        location /refund { rate_limit 3r/d name=refund mode=charge_refund cost=$arg_c; }
        location /lease { rate_limit 100r/d name=lease mode=lease; rate_limit_lease 10; }
        location /local { rate_limit 3r/d name=here store=local; }
        location /both { rate_limit 5r/d name=wide store=local; rate_limit 2r/d name=tight store=local key=all; }
        location /zero { rate_limit 0r/d name=zero; }
        location /dry { rate_limit 0r/d name=dry dry_run=on; rate_limit 5r/d name=wet store=local; }
        location /gone { rate_limit 3r/d name=gone store=gone; }
        location /remembered { rate_limit_on_error local; rate_limit 3r/d name=gone store=gone; }
        location /rate { rate_limit $arg_r name=odd; }
        location /exempt { rate_limit 3r/d name=exempt store=local exempt=200; }
        location /early/ { alias %%DIR%%/html/; rate_limit 3r/d name=early store=local;
            add_header X-Cost "[$rate_limit_cost]" always; add_header X-Source "$rate_limit_source" always; }
        location /none { return 204; }',
);

sub logged ($uri) {
    my $seen = $nginx->lines('all');
    $nginx->get($uri);
    wait_until { $nginx->lines('all') > $seen } what => 'the log';
    return ($nginx->lines('all'))[$seen];
}

is logged('/check?k=a'), 'check=PASSED:1/3|1|replica', 'a replica was asked';
is logged('/refund?k=a&c=2'), 'refund=PASSED:2/3|2|primary', 'the primary reserves, and the cost is told';
is logged('/refund?k=a&c=2'), 'refund=REJECTED:2/3|0|primary', 'a rejection costs nothing';
is logged('/refund?k=a&c=4'), 'refund=REJECTED:2/3|0|none', 'a cost above the whole limit needs nobody';
is logged('/lease?k=a'), 'lease=PASSED:1/100|1|primary', 'the first of a batch';
is logged('/lease?k=a'), 'lease=PASSED:2/100|1|tokens', 'the others';
is logged('/local?k=a'), 'here=PASSED:1/3|1|memory', 'a local limit';
is logged('/both?k=a'), 'wide=PASSED:1/5,tight=PASSED:1/2|1|memory', 'two limits, the tighter is described';
logged('/both?k=b');
is logged('/both?k=c'), 'wide=-:0/5,tight=REJECTED:2/2|0|memory', 'one refuses, the other is not decided';
is logged('/zero?k=a'), 'zero=REJECTED:0/0|0|none', 'a limit of 0';
is logged('/dry?k=a'), 'dry=REJECTED_DRY_RUN:0/0,wet=PASSED:1/5|0|none', 'a dry run';
is logged('/gone?k=a'), 'gone=ERROR_ALLOWED:-/3|1|none', 'an error';
is logged('/remembered?k=b'), 'gone=ERROR_LOCAL:1/3|1|memory', 'the memory stands in for the store';
is logged('/rate?k=a&r=many'), 'odd=ERROR_ALLOWED:-/-|1|none', 'no rate';
is logged('/exempt?k=a'), 'exempt=PASSED:0/3|0|memory', 'an exempt status';
is logged('/none?k=a'), '-|-|-', 'no limit stands there';
is logged('/local?k='), '-|-|-', 'none applies';
my $early = $nginx->get('/early/x?k=a');
is $early->header('X-Cost'), '[]', 'the cost is not known before the end';
is $early->header('X-Source'), 'memory', 'the source is';

done;
