# Keys: rate_limit_key and key=, with variables, constant or empty, with any bytes; limits without a key do
# not apply.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . '
        rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers off;',
    server => 'location / { rate_limit 9r/h; }
        location /own/ { alias %%DIR%%/html/; rate_limit 9r/h name=own key=$http_x_own;
            rate_limit 9r/h name=inherited; }
        location /mixed/ { alias %%DIR%%/html/; rate_limit 9r/h name=mixed "key=$request_method:${http_x_key}:-"; }
        location /all/ { alias %%DIR%%/html/; rate_limit 9r/h name=A.b_c-9 key=all; }
        location /never/ { alias %%DIR%%/html/; rate_limit 9r/h name=never key=; }',
);

$nginx->get('/x', 'X-Key' => $_) for 'alice', 'a b:c/d#e', "\xff\xc3\xa4", '', 'alice';
$nginx->get('/x');
$nginx->get('/own/x', 'X-Key' => 'k', 'X-Own' => 'o');
$nginx->get('/own/x', 'X-Own' => 'o');
$nginx->get('/own/x', 'X-Key' => 'k');
$nginx->get('/mixed/x', 'X-Key' => 'k');
$nginx->get('/mixed/x');
$nginx->get("/all/$_") for qw(x none);
is $nginx->get('/never/x', 'X-Key' => 'k')->status, 200, 'an empty constant key: never limited';
$nginx->stop;
is_deeply $redis->used_by_key, {
    'rl:default/3600:alice' => 2, 'rl:default/3600:a b:c/d#e' => 1, "rl:default/3600:\xff\xc3\xa4" => 1,
    'rl:own/3600:o' => 2, 'rl:inherited/3600:k' => 2, 'rl:mixed/3600:GET:k:-' => 1, 'rl:mixed/3600:GET::-' => 1,
    'rl:A.b_c-9/3600:all' => 2,
}, 'the windows';

done;
