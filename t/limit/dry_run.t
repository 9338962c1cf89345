# Dry run: what would be rejected passes, with Remaining 0 and no Retry-After, is logged and not charged;
# errors never deny; on, off, by a variable, by line.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers github ietf;',
    server => 'add_header X-Outcome $rate_limit_status always; rate_limit_on_error deny;
        location / { rate_limit 2r/h; rate_limit_dry_run on; }
        location /some/ { alias %%DIR%%/html/; rate_limit 2r/h name=some; rate_limit_dry_run $arg_dry; }
        location /line/ { alias %%DIR%%/html/; rate_limit_dry_run on; rate_limit 1r/h name=dry;
            rate_limit 2r/h name=wet dry_run=off; }
        location /error/ { alias %%DIR%%/html/; rate_limit 2r/h store=gone; rate_limit_dry_run $arg_dry; }
        location /rate/ { alias %%DIR%%/html/; rate_limit $arg_rate; rate_limit_dry_run on; }',
);

sub ask ($uri) { return $nginx->get($uri, 'X-Key' => 'k') }

is ask('/x')->header('X-Outcome'), 'PASSED', 'within the limit' for 1, 2;
my $over = ask('/x');
is_deeply [$over->status, $over->header('X-Outcome')], [200, 'REJECTED_DRY_RUN'], 'over the limit it passes';
is_deeply [@{limits($over)}{qw(limit used remaining retry_after)}], [2, 2, 0, undef], 'its headers';
my ($left) = $over->header('RateLimit') =~ /^"default";r=0;t=(\d+)$/;
ok about($left, 3600, 2), 'also of ietf';
ok $nginx->count_log(qr/\[warn\].*rate limit "default" exceeded, dry run: 2 used of 2 in 3600 s/), 'it is logged';

ask('/some/x') for 1, 2;
is_deeply [map { ask("/some/x?dry=$_")->status } '1', 'on', 'x', '', '0', 'off'],
    [200, 200, 200, 429, 429, 429], 'by a variable';
my $first = ask('/line/x');
is_deeply [$first->header('X-Outcome'), limits($first)->{resource}], ['PASSED', 'dry'], 'one of two lines';
my $second = ask('/line/x');
is_deeply [$second->status, $second->header('X-Outcome'), limits($second)->{resource}],
    [200, 'REJECTED_DRY_RUN', 'dry'], 'which is over';
my $third = ask('/line/x');
is_deeply [$third->header('X-Outcome'), limits($third)->{resource}], ['REJECTED', 'wet'], 'then the other';
is_deeply [map { ask("/error/x?dry=$_")->header('X-Outcome') } 1, 0], ['ERROR_ALLOWED', 'ERROR_DENIED'],
    'errors never deny in dry run';
is ask('/rate/x?rate=x')->header('X-Outcome'), 'ERROR_ALLOWED', 'nor a malformed rate';
$nginx->stop;
is_deeply [map { $redis->used('k', "$_/3600") } qw(default some dry wet)], [2, 2, 1, 2], 'charges';

done;
