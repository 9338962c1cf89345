# Below the location the console has a few pages and nothing else: no byte of the path or the query comes back. It is read, and changes nothing;
# every answer says that it is not to be kept. Nothing is limited or counted there, also under a limit of all servers.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(http => 'rate_limit_key k; rate_limit 1r/h;', server => '
    location /limits/ {
        if ($arg_away) { rewrite ^ /away break; }
        if ($arg_within) { rewrite ^ /limits/json break; }
        rate_limit_console view;
    }
    location / { rate_limit off; }
    location = /x { }');
my %type = ('' => 'text/html; charset=utf-8', json => 'application/json', metrics => 'text/plain; version=0.0.4; charset=utf-8');
for my $round (1 .. 3) {
    for my $page (sort keys %type) {
        for my $accept ('*/*', 'application/openmetrics-text', 'text/html') {
            my $response = $nginx->get("/limits/$page", Accept => $accept);
            is $response->status, 200, "/limits/$page";
            is $response->header('Content-Type'),           $type{$page},  '... its type';
            is $response->header('Cache-Control'),          'no-store',    '... not to be kept';
            is $response->header('X-Content-Type-Options'), 'nosniff',     '... nor guessed';
            is $response->header('Referrer-Policy'),        'same-origin', '... nor told';
            is $response->header('X-RateLimit-Limit'),      undef,         '... and not limited';
        }
    }
}
for my $path ('limits/<script>', 'limits/json/', 'limits/%2e%2e/limits', 'limits/JSON', 'limits/metrics.txt', 'limits/x?<script>', 'limits/json%00') {
    my $response = $nginx->get("/$path");
    isnt $response->status, 200, "/$path is no page" ;
    unlike $response->body, qr/<script|script>|%00|\.txt/, '... and does not come back';
}
is $nginx->get('/limits/json?away=1')->status, 404, 'a path that a rewrite has taken out of the location, which is not left';
is $nginx->get('/limits/x?within=1')->status, 200, '... and one to a page';
unlike $nginx->get('/limits/json?x=<script>')->body, qr/script/, 'nor does a query';
for my $method (qw(POST PUT DELETE PATCH OPTIONS)) {
    my $response = $nginx->request($method, '/limits/json');
    is $response->status, 405, $method;
    is $response->header('Allow'), 'GET, HEAD', '... with what is allowed';
}
my sub counted () {
    my $told = $nginx->told;
    return [map { my $counts = $_; +{map { $_ => $counts->{$_} } grep { $counts->{$_} } keys %$counts} } $told->{requests}, $told->{limits}[0]{decisions}];
}
is_deeply counted(), [{}, {}], 'none of these is counted';
my $head = $nginx->head('/limits/metrics');
is $head->status, 200, 'HEAD';
is $head->body // '', '', '... without a body';
is_deeply [map { $nginx->get('/x')->status } 1 .. 3], [200, 429, 429], 'the window was not used';
is_deeply counted(), [({passed => 1, rejected => 2}) x 2], 'only those elsewhere are counted';

done;
