# A report is read, by GET or HEAD: all else is 405 with what is allowed, and asks no store.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(http => redis_block('main', $redis),
    server => 'rate_limit_key k; rate_limit_store main; rate_limit 5r/h; location = /report { rate_limit_report; }');
for my $method (qw(POST PUT DELETE PATCH OPTIONS)) {
    my $response = $nginx->request($method, '/report', [], $method eq 'DELETE' ? undef : 'x' x 20_000);
    is $response->status, 405, $method;
    is $response->header('Allow'), 'GET, HEAD', '... with what is allowed';
    is $response->header('Cache-Control'), 'no-store', '... not to be kept';
    is $response->body, '{"message":"It is read, by GET or HEAD."}', '... and says it';
    shows $response, 405, {}, '... without limits';
}
is $redis->calls('hmget'), 0, 'no store is asked';
my $get  = $nginx->get('/report');
my $head = $nginx->head('/report');
is $head->status, 200, 'HEAD';
is $head->body, '', '... without a body';
is $head->header('Content-Length'), length $get->body, '... but its length';
shows $head, 200, {limit => 5, used => 0, remaining => 5}, '... and the headers';

# A body is not taken for the next request.
my $http = $nginx->http;
is $http->request('GET', '/report', [], 'GET /x HTTP/1.1' x 9)->status, 200, 'a GET with a body';
is $http->get('/report')->status, 200, '... and the next request of the connection';

done;
