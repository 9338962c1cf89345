# rate_limit_bypass: any value that is neither empty nor 0 nor off and nothing is limited: no store call, no
# headers, and no limit after a redirect.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main') . '
        rate_limit_store main; rate_limit_key all; rate_limit 0r/h; log_format status "$rate_limit_status";
        map $arg_m $map { default off; in ""; out yes; }',
    server => 'access_log %%DIR%%/status status; add_header X-Outcome $rate_limit_status always;
        rate_limit_bypass $arg_a $arg_b;
        location / { rate_limit 0r/h; error_page 404 /limited/x; }
        location /limited/ { alias %%DIR%%/html/; rate_limit_bypass ""; }
        location /store/ { alias %%DIR%%/html/; rate_limit 9r/h; rate_limit 9r/h name=late phase=precontent; }
        location /map/ { alias %%DIR%%/html/; rate_limit_bypass $map; }
        location /off/ { alias %%DIR%%/html/; rate_limit_bypass off; }
        location /never/ { alias %%DIR%%/html/; rate_limit_bypass 0; }',
);

for my $query ('a=1', 'b=1', 'a=0&b=x', 'a=00', 'a=on', 'a=Off', 'a=false', 'a=-', 'a=off&b=1') {
    my $response = $nginx->get("/x?$query");
    shows $response, 200, {}, "$query: not limited, no headers";
    is $response->header('X-Outcome'), 'BYPASSED', 'BYPASSED';
}
for my $query ('', 'a=', 'a=0', 'a=0&b=', 'a=&b=0', 'a=off', 'a=0&b=off') {
    is $nginx->get("/x?$query")->header('X-Outcome'), 'REJECTED', "\"$query\": limited";
}
my $missing = $nginx->get('/none?a=1');
is_deeply [$missing->status, $missing->header('X-Outcome')], [404, 'BYPASSED'], 'a redirect does not limit it';
is $nginx->get('/store/x?a=1')->status, 200, 'in every phase';
is_deeply [map { $nginx->get("/map/x$_")->status } '', '?m=in', '?m=out'], [429, 429, 200], 'a map whose default is off';
is_deeply [map { $nginx->get("/$_/x?a=1")->status } 'limited', 'off', 'never'], [429, 429, 429],
    'the constants "", off and 0 end what is inherited';
$nginx->stop;
is $_->calls(qw(hmget evalsha hincrby)), 0, 'no store call' for $shards->all;

done;
