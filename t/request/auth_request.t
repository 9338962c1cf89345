# A limit works beside auth_request: the subrequest is neither limited nor counted, a rejected request does
# not reach it, and a limit of the precontent phase can use what it found out.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $auth   = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $request->{headers}{'x-deny'} ? [403, []] : [200, ['X-User' => 'carl']];
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key $http_x_key;',
    up => $auth, server => 'location /api/ {
            alias %%DIR%%/html/; auth_request /auth; auth_request_set $user $upstream_http_x_user;
            rate_limit 3r/h name=api;
        }
        location /user/ {
            alias %%DIR%%/html/; auth_request /auth; auth_request_set $user $upstream_http_x_user;
            rate_limit 9r/h name=user key=$user phase=precontent;
        }
        location = /auth {
            internal; log_subrequest on; proxy_pass http://%%UP%%;
            rate_limit 1r/h name=auth; rate_limit 1r/h name=late phase=precontent;
        }',
);

is $nginx->get('/api/x', 'X-Key' => 'a')->status, 200, "request $_ passes" for 1, 2;
shows $nginx->get('/api/x', 'X-Key' => 'a', 'X-Deny' => 1), 403, {used => 3},
    'auth_request denies, and the answer has headers and counts';
is $nginx->get('/api/x', 'X-Key' => 'a')->status, 429, 'then the limit is reached';
is scalar($auth->requests), 3, 'the rejected request was not authenticated';

is limits($nginx->get('/user/x'))->{used}, 1, 'a precontent limit by the name that auth_request found';
is $nginx->get('/user/x', 'X-Deny' => 1)->status, 403, 'who is denied';
$nginx->stop;
is $redis->used('carl', 'user/3600'), 1, 'costs that name nothing';
is_deeply [sort $redis->keys], ['rl:api/3600:a', 'rl:user/3600:carl'], 'the subrequest opened no window';
is $redis->used('a', 'api/3600'), 3, 'the request is charged once';

done;
