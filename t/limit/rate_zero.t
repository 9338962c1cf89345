# 0r/PERIOD rejects everything without asking a store, also for limits beside it: Used 0, Remaining 0, Reset
# a period ahead of each request.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main') . '
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers github ietf;',
    server => 'location / { rate_limit 0r/m; }
        location /clock/ { alias %%DIR%%/html/; rate_limit 0r/d window=clock; }
        location /beside/ { alias %%DIR%%/html/; rate_limit 9r/h name=other; rate_limit 0r/s name=none; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 0r/h dry_run=on; }',
);

for (['/x', 60, 'default'], ['/clock/x', 86_400, 'default'], ['/beside/x', 1, 'none']) {
    my ($uri, $period, $name) = @$_;
    my $before   = int now;
    my $response = $nginx->get($uri, 'X-Key' => 'a');
    my $after    = now;
    my $reset    = limits($response)->{reset};
    shows $response, 429, {limit => 0, used => 0, remaining => 0, resource => $name, retry_after => $period}, "$uri: rejected";
    cmp_ok $reset, '>=', $before + $period, "$uri: Reset is a period ahead";
    cmp_ok $reset, '<=', $after + $period + 1, "$uri: and no more";
    my ($other, $policy) = $uri =~ /beside/ ? ('"other";r=9;t=3600, ', '"other";q=9;w=3600, ') : ('', '');
    is $response->header('RateLimit'), "$other\"$name\";r=0;t=$period", "$uri: ietf";
    is $response->header('RateLimit-Policy'), "$policy\"$name\";q=0;w=$period", "$uri: ietf policy";
}
shows $nginx->get('/dry/x', 'X-Key' => 'a'), 200, {limit => 0, used => 0, remaining => 0, retry_after => undef},
    'dry run lets it pass, and shows it';
$nginx->stop;
is $_->calls(qw(hmget evalsha hincrby)), 0, 'no store call' for $shards->all;

done;
