# The variables say in the access log what the headers say, also where headers are off, and are empty where
# no limit applies.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, names => ['west']);
my $redis  = $shards->primary(0);
my $slow   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $conn->later(0.15, hmget(undef, undef)) if $words->[0] eq 'hmget';
    return array(integer(1), integer(1)) if $words->[0] =~ /^eval/;
    return fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    http => $shards->block('main') . redis_block('slow', $slow) . '
        rate_limit_redis gone { shard g primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers off;
        rate_limit_bypass $arg_bypass;
        log_format all "$rate_limit_status,$rate_limit_limit,$rate_limit_used,$rate_limit_remaining,"
            "$rate_limit_reset,$rate_limit_resource,$rate_limit_shard,$rate_limit_store_time";',
    server => 'access_log %%DIR%%/all all;
        location / { rate_limit 3r/h name=core; rate_limit 99r/h name=wide; }
        location /early/ { alias %%DIR%%/html/; rate_limit 3r/h name=core; set $before "[$rate_limit_status]";
            add_header X-Before $before; add_header X-After "$rate_limit_status:$rate_limit_used" always; }
        location /zero { rate_limit 0r/h name=zero; }
        location /deny { rate_limit 3r/h store=gone; rate_limit_on_error deny; }
        location /allow/ { alias %%DIR%%/html/; rate_limit 3r/h store=gone; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 0r/h name=dry dry_run=on; }
        location /slow/ { alias %%DIR%%/html/; rate_limit 3r/h name=slow store=slow;
            rate_limit 3r/h name=late store=slow key=late phase=precontent; }
        location /none/ { alias %%DIR%%/html/; }',
);

sub logged ($uri, $status, $key = 'k') {
    my $seen = $nginx->lines('all');
    is $nginx->get($uri, 'X-Key' => $key)->status, $status, "$uri: status";
    wait_until { $nginx->lines('all') > $seen } what => 'the log';
    return split /,/, ($nginx->lines('all'))[$seen];
}

my $before = int now;
my @first  = logged('/x', 200);
my $after  = now;
cmp_ok $first[4], '>=', $before + 3600, 'the reset';
cmp_ok $first[4], '<=', $after + 3601, 'is a period ahead';
is_deeply [@first[0 .. 3, 5, 6]], ['PASSED', 3, 1, 2, 'core', 'west'], 'PASSED';
like $first[7], qr/^\d\.\d{3}$/, 'the time of the store in seconds';
my $early = $nginx->get('/early/x', 'X-Key' => 'k');
is $early->header('X-Before'), '[]', 'empty before the decision';
is $early->header('X-After'), 'PASSED:2', 'in response headers';
logged('/x', 200);
my $reset = int((999 + $redis->stored('k', 'core/3600')->{reset}) / 1000);
is_deeply [(logged('/x', 429))[0 .. 6]], ['REJECTED', 3, 3, 0, $reset, 'core', 'west'], 'REJECTED';
is_deeply [(logged('/dry/x', 200))[0 .. 3, 5, 6]], ['REJECTED_DRY_RUN', 0, 0, 0, 'dry', '-'], 'REJECTED_DRY_RUN';
is_deeply [(logged('/zero', 429))[0 .. 3, 5 .. 7]], ['REJECTED', 0, 0, 0, 'zero', '-', '0.000'], 'no store asked';
is_deeply [(logged('/allow/x', 200))[0 .. 6]], ['ERROR_ALLOWED', ('-') x 4, qw(default g)], 'ERROR_ALLOWED: no numbers';
is_deeply [(logged('/deny', 503))[0 .. 6]], ['ERROR_DENIED', ('-') x 4, qw(default g)], 'ERROR_DENIED: no numbers';
is_deeply [logged('/x?bypass=1', 200)], ['BYPASSED', ('-') x 7], 'BYPASSED: no numbers';
is_deeply [logged('/none/x', 200)], [('-') x 8], 'empty where no limit stands';
is_deeply [logged('/x', 200, '')], [('-') x 8], 'and where none applies';
is +(logged("/early/missing", 404, "m"))[0], 'PASSED', 'of an error';
my @slow = logged('/slow/x', 200);
cmp_ok $slow[7], '>=', 0.29, 'the store time of two phases adds up';
cmp_ok $slow[7], '<', patience(4), 'in seconds';

done;
