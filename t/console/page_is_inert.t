# The page for people has nothing that runs, and nothing from elsewhere: one style, whose hash the Content-Security-Policy has, no script, no style
# attribute, no address outside itself. It refreshes itself unless asked not to, and takes no other query. HEAD answers as GET does.

use RateLimit::Test;
use Digest::SHA qw(sha256_base64);

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(http => redis_block('main', $redis), server => 'rate_limit_key $arg_k;
    location /limits/ { rate_limit_console view; }
    location /plain { rate_limit_console manage keys=plain; }
    location /a { rate_limit 1r/d name=a; } location /b { rate_limit 1r/d name=b store=main; }');
$nginx->get("/$_?k=k") for qw(a a b b);

my sub is_inert ($response, $what) {
    my $body = $response->body;
    is $response->status, 200, "$what is there";
    is $response->header('Content-Type'),           'text/html; charset=utf-8', '... as HTML';
    is $response->header('Cache-Control'),          'no-store',    '... not to be kept';
    is $response->header('X-Content-Type-Options'), 'nosniff',     '... nor guessed';
    is $response->header('Referrer-Policy'),        'same-origin', '... nor told';
    my @styles = $body =~ m{<style>(.*?)</style>}sg;
    is @styles, 1, '... with one style';
    is $response->header('Content-Security-Policy'), "default-src 'none'; style-src 'sha256-" . sha256_base64($styles[0])
        . "='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", '... which its policy names';
    my $outside = $body =~ s{<style>.*?</style>}{}sr;
    unlike $outside, qr/<script|<link|<base|<iframe|<img|<object|<embed|javascript:|\sstyle=|\son\w+\s*=/i, '... and nothing that runs';
    is_deeply [grep { !m{^(?:\./|\?|url\(#)} } $outside =~ /(?:href|src|action)="([^"]*)"/g], [], '... no address but its own';
    unlike $body, qr{//}, '... and none in the style';
    my %opened;
    my @tags = $outside =~ m{<(/?[a-z0-9]+)(?:[^>]*[^/>])?>}g;
    $opened{s{^/}{}r} += m{^/} ? -1 : 1 for grep { !/^(?:meta|input|br)$/ } @tags;
    is_deeply [grep { $opened{$_} } sort keys %opened], [], '... and its elements are closed';
    my %ids;
    $ids{$_}++ for $body =~ / id="([^"]*)"/g;
    is_deeply [grep { $ids{$_} > 1 } keys %ids], [], '... and told apart by their ids';
    is_deeply [grep { !$ids{$_} } $outside =~ / aria-labelledby="([^"]*)"/g], [], '... which labels name';
    return;
}
my sub refreshes ($response) { return $response->body =~ /<meta http-equiv="refresh" content="5">/ ? 1 : 0 }

is_inert($nginx->get('/limits/'), 'the page');
is_inert($nginx->get('/plain'),   'of a location without a slash');
is_inert($nginx->get('/plainkey'), 'the form');
like $nginx->get('/plain')->body, qr{href="\./plainjson".*href="\./plainmetrics"}s, 'links follow the prefix of the location';
is $nginx->get('/plainjson')->status, 200, '... and lead there';

is refreshes($nginx->get('/limits/')), 1, 'it refreshes itself';
is refreshes($nginx->get('/limits/?refresh=off')), 0, '... unless asked not to';
is refreshes($nginx->get('/limits/?refresh=on')),  1, '... or asked to';
like $nginx->get('/limits/')->body, qr/<a href="\?refresh=off">stop/, '... as a link does';
like $nginx->get('/limits/?refresh=off')->body, qr/<a href="\?refresh=on">refresh every 5 s/, '... and undoes';
is refreshes($nginx->get('/plainkey')), 0, 'the form does not, or it would be lost';

for my $path ('limits/?x=<script>', 'limits/?refresh=off&x=<script>', 'limits/?refresh=<script>', 'limits/<script>', 'limits/json/', 'limits//<script>', 'limits/%2e%2e/<script>',
    'limits/index.html?<script>') {
    my $response = $nginx->get("/$path");
    is $response->status, 404, "/$path is no page";
    unlike $response->body, qr/<script|script>|refresh=|%2e|x=/, '... and does not come back';
    is $response->header('Content-Security-Policy'), undef, '... as text';
}
is $nginx->get("/limits/$_")->header('Content-Security-Policy'), undef, "$_ is for programs" for qw(json metrics);

my $head = $nginx->head('/limits/');
is $head->status, 200, 'HEAD';
is $head->body // '', '', '... without a body';
is $head->header($_), $nginx->get('/limits/')->header($_), "... but with its $_" for 'Content-Type', 'Content-Security-Policy', 'Cache-Control';
for my $method (qw(POST PUT DELETE PATCH)) {
    my $response = $nginx->request($method, '/limits/');
    is $response->status, 405, $method;
    is $response->header('Allow'), 'GET, HEAD', '... with what is allowed';
}

done;
