# docs/recipes.md, "Methods and OPTIONS": writes have a limit of their own besides, and preflights are free.

use RateLimit::Test;

my $app   = RateLimit::Backend->start;
my $nginx = start_text(code(project_file('docs/recipes.md'), 'recipe: methods'), app => $app);
my $http  = $nginx->http;

is_deeply limits($http->request('OPTIONS', '/')), {}, 'a preflight is not limited';
is_deeply [@{limits($http->get('/'))}{qw(resource limit used)}], ['all', 1000, 1], 'a read';
is limits($http->head('/'))->{used}, 2, 'HEAD is one';
is_deeply [@{limits($http->post('/', ''))}{qw(resource limit used)}], ['write', 60, 1], 'a write';
is limits($http->get('/'))->{used}, 4, 'which counts in both';
$http->request('PUT', '/') for 2 .. 60;
is $http->request('DELETE', '/')->status, 429, 'too many writes';
is $http->get('/')->status, 200, 'leave reads alone';
is $http->request('OPTIONS', '/')->status, 200, 'and preflights';

done;
