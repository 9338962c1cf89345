# Lines are inherited from the level above only where a level has none; `rate_limit off` ends them;
# parameters override directives; directives come from where the limit is in effect.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers ietf;
        rate_limit_exempt_status off; rate_limit_lease 5; rate_limit 9r/h name=http; rate_limit 99r/d name=http2;
        server { listen 127.0.0.1:%%PORT_1%%; rate_limit off; rate_limit_cost 2;
            location / { } location /on/ { alias %%DIR%%/html/; rate_limit 3r/h name=on cost=5; } }
        server { listen 127.0.0.1:%%PORT_2%%; rate_limit 8r/h name=server; rate_limit_status 480;
            location / { } location /off/ { alias %%DIR%%/html/; rate_limit off;
                location /off/in/ { alias %%DIR%%/html/; } } }',
    server => 'location / { }
        location /key/ { alias %%DIR%%/html/; rate_limit_key mine; }
        location /cost/ { alias %%DIR%%/html/; rate_limit_cost 3;
            location /cost/in/ { alias %%DIR%%/html/; rate_limit_cost 4; } }
        location /line/ { alias %%DIR%%/html/; rate_limit_cost 3;
            rate_limit 7r/h name=line key=own cost=2 exempt=304,405; }
        location /headers/ { alias %%DIR%%/html/; rate_limit_headers github; rate_limit_key headers; }
        location /lease/ { alias %%DIR%%/html/; rate_limit 900r/h name=lease mode=lease;
            location /lease/in/ { alias %%DIR%%/html/; rate_limit_lease 7; } }
        if ($arg_if) { set $x 1; }
        location /if/ { alias %%DIR%%/html/; rate_limit_key if; if ($arg_y) { set $y 1; } }',
);

sub policy ($uri, $port = 0) {
    my $http = RateLimit::HTTP->new(port => $nginx->port($port));
    return join ',', ($http->get($uri, 'X-Key' => 'k')->header('RateLimit-Policy') // '') =~ /"(\w+)"/g;
}
sub left ($uri) {
    my ($left) = ($nginx->get($uri, 'X-Key' => "k$uri")->header('RateLimit') // '') =~ /r=(\d+)/;
    return $left;
}

is policy('/x'), 'http,http2', 'from http through server to location';
is policy('/x?if=1'), 'http,http2', 'also within an if';
is policy('/x', 1), '', 'off in the server';
is policy('/on/x', 1), 'on', 'a line of its own after off';
is policy('/x', 2), 'server', 'the server has its own';
is policy('/off/x', 2), '', 'off in the location';
is policy('/off/in/x', 2), '', 'and below it';
is policy('/line/x'), 'line', 'a line of its own replaces all';
is policy('/if/x?y=1'), 'http,http2', 'an if in a location keeps them';

is left('/x'), 8, 'the cost of where it is in effect: the default';
is left('/cost/x'), 6, 'of the location';
is left('/cost/in/x'), 5, 'of the location in it';
is left('/line/x'), 3, 'of the line, which wins: its second request for its own key';
is $nginx->post('/line/x', '', 'X-Key' => 'k')->header('RateLimit') =~ s/;t.*//r, '"line";r=3', 'exempt= of the line';
is $nginx->get('/x', 'X-Key' => 'e', 'If-None-Match' => '*')->header('RateLimit') =~ s/;t.*//r, '"http";r=8',
    'rate_limit_exempt_status of http';
my $headers = $nginx->get('/headers/x');
is_deeply [@{limits($headers)}{qw(limit used resource)}], [9, 1, 'http'], 'rate_limit_headers of the location';
is $headers->header('RateLimit'), undef, 'replaces that of http';
for my $case (['/lease/x', 5, 'http'], ['/lease/in/x', 7, 'the location']) {
    my ($uri, $batch, $where) = @$case;
    is $nginx->get($uri, 'X-Key' => $uri)->status, 200, 'a request with a token';
    is $redis->used($uri, 'lease/3600'), $batch, "of a batch as large as $where says";
}
$nginx->get('/key/x', 'X-Key' => 'k');
my $server = RateLimit::HTTP->new(port => $nginx->port(2));
is_deeply [map { $server->get('/x', 'X-Key' => 's')->status } 1 .. 9], [(200) x 8, 480],
    'rate_limit_status of the server';
$nginx->stop;
is $redis->used('mine', 'http/3600'), 1, 'the key of where it is in effect';
is $redis->used('if', 'http/3600'), 1, 'also with an if';
is $redis->used('k', 'on/3600'), 5, 'the cost of the line';

done;
