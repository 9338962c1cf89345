# Responses of exempt statuses are free: 304 by default, a list, none; Used leaves them out; they open no
# window.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_key $http_x_key; log_format used "$status $rate_limit_used";',
    up => $backend, server => 'access_log %%DIR%%/used used;
        location / { rate_limit 3r/h; }
        location /list/ { rate_limit 9r/h; rate_limit_exempt_status 404 500; proxy_pass http://%%UP%%; }
        location /line/ { rate_limit 9r/h exempt=404,500; rate_limit_exempt_status 200; proxy_pass http://%%UP%%; }
        location /proxy/ { rate_limit 9r/h; proxy_pass http://%%UP%%; }
        location /none/ { alias %%DIR%%/html/; rate_limit 9r/h; rate_limit_exempt_status off; }
        location /off/ { alias %%DIR%%/html/; rate_limit 9r/h exempt=off; }
        location /each/ { alias %%DIR%%/html/; rate_limit 9r/h name=a exempt=off; rate_limit 7r/h name=b; }
        location /classes/ { rate_limit 9r/h exempt=4xx,5xx,!499,!404; proxy_pass http://%%UP%%; }
        location /but/ { rate_limit 9r/h; rate_limit_exempt_status !401 !403; proxy_pass http://%%UP%%; }
        location /as/ { rate_limit 9r/h exempt=404; error_page 404 =200 /x; error_page 500 =404 /x;
            proxy_intercept_errors on; proxy_pass http://%%UP%%; }
        location /page/ { rate_limit 9r/h name=page; error_page 404 =200 /x; }',
);

sub ask ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more) }
sub same ($uri, $key) { return ask($uri, $key, 'If-None-Match' => '*') }

my $before = int now;
my $fresh  = same('/x', 'a');
my $after  = now;
shows $fresh, 304, {limit => 3, used => 0, remaining => 3}, 'not modified, without a window: Used 0';
cmp_ok limits($fresh)->{reset}, '>=', $before + 3600, 'and a proposed Reset';
cmp_ok limits($fresh)->{reset}, '<=', $after + 3601, 'no later';
ask('/x', 'a');
is_deeply [@{limits(same('/x', 'a'))}{qw(used remaining)}], [1, 2], 'with one: it is left out';
ask('/x', 'a') for 1, 2;
is same('/x', 'a')->status, 429, 'at the limit it is rejected: its status is not known yet';

for my $location ('list', 'line') {
    is_deeply [map { limits(ask("/$location/$_", $location))->{used} } qw(404 200 500 404 502)],
        [0, 1, 1, 1, 2], "$location: the statuses in it are free";
}
is_deeply [map { limits(ask("/classes/$_", 'classes'))->{used} } qw(403 200 500 404 304 599)], [0, 1, 1, 2, 3, 3], 'classes, but for the exceptions';
is_deeply [map { limits(ask("/but/$_", 'but'))->{used} } qw(200 401 500 403 404)], [0, 1, 1, 2, 2], 'all but the exceptions';
is limits(same("/$_/x", $_))->{used}, 1, "$_: 304 costs as well" for qw(none off);
is limits(ask('/as/404', 'as'))->{used}, 1, 'error_page may change the status';
is limits(ask('/as/500', 'as'))->{used}, 1, 'either way';
is limits(ask('/page/none', 'page'))->{used}, 1, 'a page instead of 404';
shows same('/page/none', 'page'), 304, {used => 1}, '... that is found not modified is free';
is limits(ask('/proxy/304', 'proxy'))->{used}, 0, 'an upstream may say 304';
is_deeply [@{limits(same('/each/x', 'each'))}{qw(used resource)}], [0, 'b'], 'each limit by its own list';
$nginx->stop;
is_deeply [map { $redis->used($_) } qw(a list line none off as classes but)], [3, 2, 2, 1, 1, 1, 3, 2], 'charges';
is $redis->used('page', 'page/3600'), 1, '... as its headers say';
is $redis->used('each', 'a/3600'), 1, 'one of two limits is charged';
is_deeply [grep { m{rl:b/} } $redis->keys], [], 'the other opened no window';
is(($nginx->lines('used'))[0], '304 0', 'the variable agrees');

done;
