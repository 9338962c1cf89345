# The local store, which is the default, needs no Redis: headers and variables say of its windows what they say of
# Redis's, responses of exempt statuses open none, everything else admitted is charged.

use RateLimit::Test;

my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    files => {page => "too many\n"},
    http  => 'rate_limit_key $http_x_key; rate_limit_bypass $http_x_bypass; rate_limit_headers github ietf;
        log_format all "$status,$rate_limit_status,$rate_limit_limit,$rate_limit_used,$rate_limit_remaining,"
            "$rate_limit_resource,$rate_limit_shard,$rate_limit_store_time,$http_x_key";',
    up => $backend, server => 'access_log %%DIR%%/all all;
        error_page 429 /page;
        location / { rate_limit 3r/h name=core; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 1r/h name=dry; rate_limit_dry_run on; }
        location /up/ { rate_limit 9r/h name=up; proxy_pass http://%%UP%%; }
        location /cost/ { alias %%DIR%%/html/; rate_limit 10r/h name=cost cost=$http_x_cost; }
        location /named/ { alias %%DIR%%/html/; rate_limit 3r/h name=core store=$http_x_store; }
        location /explicit/ { alias %%DIR%%/html/; rate_limit 3r/h name=core store=local; }
        location /zero/ { alias %%DIR%%/html/; rate_limit 0r/s name=zero; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }
sub shown (@responses) { return [map { limits($_)->{used} } @responses] }

sub logged ($key) {
    my @lines;
    wait_until { @lines = grep { /,$key$/ } $nginx->lines('all') } what => "the log of $key";
    return [split /,/, $lines[-1]];
}

my $before = int now;
my @first  = map { ask('/x', 'a') } 1 .. 3;
my $after  = now;
my $reset  = limits($first[0])->{reset};
is_deeply [map { $_->status } @first], [200, 200, 200], 'three pass';
is_deeply [map { limits($_) } @first],
    [map { {limit => 3, used => $_, remaining => 3 - $_, reset => $reset, resource => 'core'} } 1 .. 3], 'and are told';
cmp_ok $reset, '>=', $before + 3600, 'the window is a period long';
cmp_ok $reset, '<=', $after + 3601,  'and no longer';
is_deeply logged('a'), [200, 'PASSED', 3, 3, 0, 'core', '-', '0.000', 'a'], 'the variables name no shard and no wait';
my $rejected = ask('/x', 'a');
my $left = limits($rejected)->{retry_after};
is_deeply [$rejected->status, $rejected->body], [429, "too many\n"], 'the fourth gets the error page';
is_deeply [@{limits($rejected)}{qw(limit used remaining reset resource)}], [3, 3, 0, $reset, 'core'], 'with headers';
cmp_ok abs($left - ($reset - $rejected->date)), '<=', 1, 'and Retry-After';
is_deeply logged('a'), [429, 'REJECTED', 3, 3, 0, 'core', '-', '0.000', 'a'], 'REJECTED';
like $rejected->header('RateLimit'), qr/^"core";r=0;t=$left$/, 'ietf';
is_deeply shown(ask('/explicit/x', 'a'), ask('/named/x', 'a', 'X-Store' => 'local')), [3, 3],
    'store=local is the same window, a variable may name it';
is ask('/named/x', 'a', 'X-Store' => 'other')->status, 200, 'where it names no store, rate_limit_on_error decides';
is logged('a')->[1], 'ERROR_ALLOWED', 'and it shows';
is limits(ask('/x', ''))->{limit}, undef, 'without a key it does not apply';
is limits(ask('/x', 'a', 'X-Bypass' => 1))->{limit}, undef, 'a bypass has no headers';
is logged('a')->[1], 'BYPASSED', 'and is no rejection';

shows ask('/missing', 'error'), 404, {used => 1, remaining => 2}, 'an error is charged';
is_deeply shown(ask('/up/500', 'up'), ask('/up/204', 'up'), ask('/up/304', 'up'), ask('/up/302', 'up')), [1, 2, 2, 3],
    'whatever an upstream answers, but 304';
my $http = $nginx->reach($backend, '/up/slow', 'X-Key' => 'up');
is_deeply shown(ask('/up/200', 'up')), [5], 'a request under way counts';
$http->abort;
wait_until { grep { /^499,PASSED,/ } $nginx->lines('all') } what => 'its end';
is_deeply shown(ask('/up/200', 'up')), [6], 'and is charged when its client leaves';

shows ask('/x', 'fresh', 'If-None-Match' => '*'), 304, {used => 0, remaining => 3},
    'not modified: free, and nothing is used';
is_deeply shown(map { ask('/x', 'fresh', @$_) } [], ['If-None-Match' => '*'], []), [1, 1, 2], 'as before';

my @dry = map { ask('/dry/x', 'dry') } 1 .. 3;
is_deeply [map { $_->status } @dry], [200, 200, 200], 'a dry run rejects nobody';
is_deeply [map { [@{limits($_)}{qw(used remaining retry_after)}] } @dry], [([1, 0, undef]) x 3],
    'and charges to the limit';
is logged('dry')->[1], 'REJECTED_DRY_RUN', 'it says so';

is_deeply shown(map { ask('/cost/x', 'cost', 'X-Cost' => $_) } 3, 0, 4, '', 7), [3, 3, 7, 8, 15], 'costs';
is ask('/cost/x', 'cost', 'X-Cost' => 0)->status, 429, 'may pass the limit';
is limits(ask('/cost/x', 'none', 'X-Cost' => 0))->{remaining}, 10, 'a cost of 0 opens nothing';
shows ask('/zero/x', 'a'), 429, {limit => 0, used => 0, remaining => 0, retry_after => 1}, '0r/s';

done;
