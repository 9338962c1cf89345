# docs/recipes.md, "A JSON body for 429": a rejection has a JSON body, its own headers, and is not decided again.

use RateLimit::Test;

my $app = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $request->{uri} eq '/own' ? [429, [], 'the upstream'] : [200, [], 'ok'];
});
my $nginx = start_text(code(project_file('docs/recipes.md'), 'recipe: json'), app => $app);
my $http  = $nginx->http;

is $http->get('/own')->body, 'the upstream', 'a 429 of the upstream passes unchanged';
$http->get('/') for 2 .. 100;
my $rejected = $http->get('/page.html');
my $limits   = limits($rejected);
is $rejected->header('Content-Type'), 'application/json', 'whatever the name of what was asked for';
is $rejected->body, qq({"error": "rate limit exceeded", "limit": "default", "reset": $limits->{reset}}\n), 'the body';
shows $rejected, 429, {limit => 100, used => 100, remaining => 0}, 'the headers of the rejection';
cmp_ok $limits->{retry_after}, '>', 0, 'and Retry-After';
is $app->requests, 100, 'the application sees no request beyond the limit';

done;
