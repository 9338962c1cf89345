# docs/recipes.md, "Problem details": a rejection, a ban and a limit that could not be checked each have the type of their own.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_text(code(project_file('docs/recipes.md'), 'recipe: problem'), shards => $shards, app => $app,
    replace => {'location @refused {' => 'location /limits/ { rate_limit_console manage; } location @refused {'});
my $http = $nginx->http;

sub problem ($response) {
    is $response->header('Content-Type'), 'application/problem+json', 'its type';
    my $problem = decode_json($response->body);
    return [$response->status, $problem->{type} =~ m{^https://iana\.org/assignments/http-problem-types#([\w-]+)$}, $problem->{'violated-policies'}];
}

is $http->get('/status=503')->body, '/status=503', 'a 503 of the upstream passes unchanged';
my $rejected;
wait_until { ($rejected = $http->get('/'))->status != 200 } what => 'a rejection';
is_deeply problem($rejected), [429, 'quota-exceeded', ['api']], 'a quota that is used up';
cmp_ok limits($rejected)->{retry_after}, '>', 0, '... with its headers';

is $nginx->post('/limits/key', 'do=ban&limit=api&key=127.0.0.1&for=1h', 'Content-Type' => 'application/x-www-form-urlencoded')->status, 200, 'a ban';
is_deeply problem($http->get('/')), [429, 'abnormal-usage-detected', ['api']], '... is told';
is $nginx->post('/limits/key', "do=$_&limit=api&key=127.0.0.1", 'Content-Type' => 'application/x-www-form-urlencoded')->status, 200, "do=$_" for 'clear', 'reset';

$_->kill for $shards->primary, $shards->replica;
my $unchecked;
wait_until { ($unchecked = $nginx->get('/'))->status == 503 } what => 'a limit that cannot be checked';
is_deeply problem($unchecked), [503, 'temporary-reduced-capacity', undef], '... is told, too';

done;
