# A request is decided and charged once, by the first location with a limit, wherever error_page, try_files,
# index, X-Accel-Redirect and named locations take it; its headers stay, also in the same location and in
# one that has limits of its own.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, ['X-Accel-Redirect' => '/other/x']] if $request->{uri} =~ /accel/;
    return [200, ['X-Accel-Redirect' => '@end']] if $request->{uri} =~ /named/;
    return [404, [], 'missing'] if $request->{uri} =~ /missing/;
    return [200, [], 'backend'];
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key $http_x_key;',
    files  => {'404.html' => "not here\n"},
    up => $backend, server => 'location / { rate_limit 9r/h name=first; error_page 404 /404.html; }
        location /page/ { rate_limit 9r/h name=first; error_page 404 /other/x; }
        location /at/ { rate_limit 9r/h name=first; error_page 404 = @other; }
        location /try/ { rate_limit 9r/h name=first; try_files /none /other/x; }
        location /tryat/ { rate_limit 9r/h name=first; try_files /none @other; }
        location /pre/ { rate_limit 9r/h name=first phase=precontent; try_files /none /other/x; }
        location /proxy/ {
            rate_limit 9r/h name=first; error_page 404 /other/x; proxy_intercept_errors on;
            proxy_pass http://%%UP%%;
        }
        location /two/ {
            rate_limit 9r/h name=first; rate_limit 99r/h name=second phase=precontent;
            error_page 404 /other/x;
        }
        location /other/ { alias %%DIR%%/html/; rate_limit 1r/h name=other; rate_limit_headers off; }
        location @other { rate_limit 1r/h name=other; rate_limit 1r/h name=late phase=precontent;
            proxy_pass http://%%UP%%; }
        location @end { rate_limit 1r/h name=other; try_files /x =404; }
        location /unlimited/ { rate_limit off; error_page 404 /other/x; }
        location /unkeyed/ { rate_limit 9r/h name=first key=$http_x_none; error_page 404 /other/x; }
        location /unmet/ { rate_limit 9r/h name=first key=$http_x_none; try_files /none /other/x; }
        location /later/ { rate_limit 9r/h name=first key=$http_x_none phase=precontent; try_files /none /other/x; }',
);

my %expected = (
    '/' => 200, '/none' => 404, '/page/none' => 404, '/at/none' => 200, '/try/none' => 200,
    '/tryat/none' => 200, '/pre/none' => 200, '/proxy/accel' => 200, '/proxy/named' => 200,
    '/proxy/missing' => 404, '/two/none' => 404,
);
for my $uri (sort keys %expected) {
    (my $key = $uri) =~ tr{/}{-};
    for my $n (1 .. 2) {
        shows $nginx->get($uri, 'X-Key' => $key), $expected{$uri}, {used => $n, resource => 'first'},
            "$uri: counted once, by the first location";
    }
    wait_until { $redis->used($key, 'first/3600') == 2 } what => "$uri: charges";
}
is_deeply [grep { /other|late/ } $redis->keys], [], 'where redirects led, nothing was limited';

for (['unlimited', 404], ['unkeyed', 404], ['unmet', 200], ['later', 200]) {
    my ($key, $status) = @$_;
    is $nginx->get("/$key/none", 'X-Key' => $key)->status, $status, "$key: no limit before";
    wait_until { $redis->used($key, 'other/3600') } what => 'the charge';
    is $nginx->get("/$key/none", 'X-Key' => $key)->status, 429, "... so that the limit of the location that it is led to counts";
}
$nginx->stop;
is $redis->used('-proxy-accel', 'first/3600'), 2, 'no charge comes late';

done;
