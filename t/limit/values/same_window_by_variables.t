# Two limits of one location whose window turns out to be the same, by variables in their rates or keys: it is charged once,
# by the first, and the log says so once.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http    => redis_block('main', $redis) . '
        rate_limit_key $http_x_key; log_format end "$uri $rate_limit_resource $rate_limit_limit"; rate_limit_headers github ietf;',
    server => 'access_log %%DIR%%/ends end;
        location /local { rate_limit 10r/m; rate_limit $http_x_rate; }
        location /redis { rate_limit 10r/m store=main; rate_limit $http_x_rate store=$http_x_store; }
        location /refund { rate_limit_mode charge_refund; rate_limit 10r/m store=main name=r cost=2;
            rate_limit $http_x_rate store=main name=r cost=2; }
        location /keys { rate_limit 10r/m name=k; rate_limit 10r/m name=k key=$http_x_other; }
        location /phases { rate_limit 10r/m name=p; rate_limit $http_x_rate name=p phase=precontent; }',
);

sub policy ($uri, @headers) {
    my $response = $nginx->get($uri, 'X-Key' => 'k', @headers);
    return join ' ', $response->status, limits($response)->{used}, scalar(() = $response->header('RateLimit') =~ /;r=/g);
}

my @same = ('X-Rate' => '10r/60s', 'X-Store' => 'main');
for my $uri (qw(/local /redis /refund /phases)) {
    my $each = $uri eq '/refund' ? 2 : 1;
    is policy($uri, @same), "200 @{[$each * 1]} 1", "$uri: one limit is left";
    wait_until { $redis->used('k', 'default/60') } what => 'the charge' if $uri eq '/redis';
    is policy($uri, @same), "200 @{[$each * 2]} 1", "$uri: and charged once a request";
    is policy($uri, 'X-Rate' => '10r/61s', 'X-Store' => 'main'), "200 @{[$each * 3]} 2", "$uri: two where they differ";
    is policy($uri, 'X-Rate' => '7r/60s', 'X-Store' => 'main'), "200 @{[$each * 4]} 1", "$uri: what they allow does not count";
}
is policy('/keys', 'X-Other' => 'k'), '200 1 1', 'one key by two variables';
is policy('/keys', 'X-Other' => 'l'), '200 2 2', 'two keys';
is policy('/redis', 'X-Rate' => '10r/60s', 'X-Store' => 'local'), '200 5 2', 'another store is another window';

$nginx->stop;
is $redis->used('k', 'default/60'), 5, 'Redis was charged once a request';
is $redis->used('k', 'r/60'), 8, 'in charge_refund, too';
is $nginx->count_log(qr/\[warn\] .*rate limit "default" in \S+:\d+ is skipped where its window turns out to be the same as that of/), 2,
    'each line is logged once';
is $nginx->count_log(qr/is skipped/), 5, 'all of them';

done;
