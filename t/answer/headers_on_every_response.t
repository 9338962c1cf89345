# Every response of a limited request carries the headers, each once, whatever its status and way, and
# counts: files, ranges, redirects, errors, error pages, HEAD, gzip, filters, upstreams.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    files  => {large => 'large ' x 1000, '5xx.html' => "sorry\n"},
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key all; rate_limit 1000r/h;',
    up => $backend, server => 'error_page 500 /5xx.html; recursive_error_pages on;
        location / { }
        location /large { gzip on; gzip_types *; client_max_body_size 10; }
        location /denied { deny all; }
        location /folder { alias %%DIR%%/html; }
        location /status/ { proxy_pass http://%%UP%%; }
        location /intercepted/ { proxy_intercept_errors on; proxy_pass http://%%UP%%/status/; }
        location /silent {
            proxy_read_timeout 50ms; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_pass http://%%UP%%;
        }
        location /refused { proxy_pass http://127.0.0.1:%%PORT_1%%; }
        location /loop { try_files /none /loop; }
        location /sub/ { alias %%DIR%%/html/; sub_filter x y; sub_filter_types *; add_header X-Own 1 always; }',
);

my $used = 0;
sub counted ($status, $what, $response) {
    ++$used;
    shows $response, $status,
        {limit => 1000, used => $used, remaining => 1000 - $used, resource => 'default', retry_after => undef}, $what;
    return $response;
}

counted(200, 'file', $nginx->get('/x'));
counted(200, 'HEAD', $nginx->head('/x'));
counted(206, 'range', $nginx->get('/large', Range => 'bytes=0-9'));
my $range = counted(416, 'range that cannot be', $nginx->get('/x', Range => 'bytes=100-200'));
is $range->header('Content-Range'), 'bytes */2', 'is the answer of the range filter';
counted(412, 'filter finalisation', $nginx->get('/x', 'If-Match' => '"none"'));
my $old = 'Mon, 01 Jan 2001 00:00:00 GMT';
counted(412, 'filter finalisation of HEAD', $nginx->head('/x', 'If-Unmodified-Since' => $old));
my $gzip = counted(200, 'gzip', $nginx->get('/large', 'Accept-Encoding' => 'gzip'));
is $gzip->header('Content-Encoding'), 'gzip', 'is compressed';
my $filtered = counted(200, 'body filter', $nginx->get('/sub/x'));
is_deeply [$filtered->body, $filtered->header('X-Own')], ["y\n", 1], 'is filtered';
counted(301, 'redirect of a folder', $nginx->get('/folder'));
counted(403, 'deny', $nginx->get('/denied'));
counted(404, 'missing', $nginx->get('/none'));
counted(404, 'HEAD of what is missing', $nginx->head('/none'));
counted(405, 'method', $nginx->post('/x', 'body'));
counted(500, 'redirection loop', $nginx->get('/loop'));
counted($_, 'from the upstream', $nginx->get("/status/$_")) for 200, 204, 302, 404, 429, 500, 503;
counted($_, 'intercepted', $nginx->get("/intercepted/$_")) for 404, 500;
counted(502, 'no upstream', $nginx->get('/refused'));
counted(504, 'silent upstream', $nginx->get('/silent'));
shows $nginx->get('/x', 'If-None-Match' => '*'), 304, {used => $used}, 'not modified, and free';

$nginx->stop;
is $redis->used('all'), $used, 'each was charged once';

done;
