# docs/recipes.md, "Browsers: CORS": scripts see the headers, also of a rejection; preflights are free; add_header of a location is lost.

use RateLimit::Test;

my $app    = RateLimit::Backend->start;
my $recipe = code(project_file('docs/recipes.md'), 'recipe: cors');
my $nginx  = start_text($recipe, app => $app);
my $http   = $nginx->http;

for (1 .. 3) {
    my $preflight = $http->request('OPTIONS', '/');
    is $preflight->status, 204, 'a preflight';
    is $preflight->header('Access-Control-Allow-Origin'),  'https://app.example.com', 'may come from the application';
    is $preflight->header('Access-Control-Allow-Methods'), 'GET, POST, PUT, DELETE',  'with these methods';
    like $preflight->header('Access-Control-Allow-Headers'), qr/\bX-Api-Key\b/, 'and a key of the API';
}
is limits($http->get('/'))->{used}, 1, 'and costs nothing';
$http->get('/') for 2 .. 100;

sub exposed ($response) { return split /, /, $response->header('Access-Control-Expose-Headers') // '' }
my $rejected = $http->get('/');
is $rejected->status, 429, 'over the limit';
is $http->request('OPTIONS', '/')->status, 204, 'where preflights are answered all the same';
for my $response ($http->get('/'), $rejected) {
    is $response->header('Access-Control-Allow-Origin'), 'https://app.example.com', 'a script may read the response';
    my %seen = map { lc $_ => 1 } exposed($response);
    my @names = map { $_->[0] } $response->headers;
    is_deeply [grep { /^(?:x-ratelimit|retry)/i && !$seen{lc $_} } @names], [], 'and each header of the limit';
}
like $rejected->header('Retry-After'), qr/^\d+$/, 'of which there is Retry-After';

# The trap: the same lines in the location.
(my $lost = $recipe) =~ s/^    add_header .*\n//mg or fail('the lines of the server');
$lost =~ s/location \/ \{\n\K/add_header Access-Control-Allow-Origin * always;\n/ or fail('the location');
my $trapped = start_text($lost, app => $app)->http;
is $trapped->get('/')->header('Access-Control-Allow-Origin'), '*', 'add_header in the location works for its responses';
$trapped->get('/') for 2 .. 100;
my $hidden = $trapped->get('/');
is $hidden->status, 429, 'but behind error_page';
is $hidden->header('Access-Control-Allow-Origin'), undef, 'it is lost';

done;
