# A client may act if it may see the console, under `manage`, by POST, with a form, and from the console's own origin or from none, as curl does. Any other
# request is refused with the contract's code, and nothing is done; a client that may not see the console is not told any name. A GET never acts, whatever its
# query says.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(http => '
    server {
        listen 127.0.0.1:%%PORT%%; server_name limits.test; client_max_body_size 100k;
        rate_limit_key $http_x_key;
        location /view/ { rate_limit_console view; }
        location /limits/ { rate_limit_console manage; client_body_buffer_size 1k; }
        location /file/ { rate_limit_console manage; client_body_in_file_only clean; }
        location / { rate_limit 5r/h name=core; }
    }');
my $form  = 'application/x-www-form-urlencoded';
my $reset = 'do=reset&key=x&limit=core';
my sub post ($uri, $body, @headers) { return $nginx->post($uri, $body, 'Content-Type' => $form, @headers) }
my sub used () { return 5 - $nginx->get('/', 'X-Key' => 'x')->header('X-RateLimit-Remaining') }
my sub refused ($response, $status, $code, $what) {
    is $response->status, $status, $what;
    my $error = eval { $response->json } // {};
    is $error->{error}, $code, '... as ' . $code;
    like $error->{description}, qr/^[A-Z].*\.$/, '... with a sentence';
    return $response;
}
is used(), 1, 'one request';

for my $method (qw(POST PUT DELETE PATCH)) {
    my $response = $nginx->request($method, '/view/key', ['Content-Type' => $form], $reset);
    is $response->status, 405, "$method of a console that may only be seen";
    is $response->header('Allow'), 'GET, HEAD', '... tells what it takes';
}
is $nginx->get("/view/key?$reset")->status, 404, 'it has no form';
for my $method (qw(PUT DELETE PATCH)) {
    my $response = refused($nginx->request($method, '/limits/key', ['Content-Type' => $form], $reset), 405, 'MethodNotAllowed', $method);
    is $response->header('Allow'), 'GET, HEAD, POST', '... tells what it takes';
}
is $nginx->get("/limits/key?$reset")->status, 200, 'a GET gives the form';
is $nginx->head("/limits/key?$reset")->status, 200, '... and HEAD';
is post('/limits/json', $reset)->status, 405, 'a page that is read';

for my $site (qw(cross-site same-site none)) {
    refused(post('/limits/key', $reset, 'Sec-Fetch-Site' => $site), 403, 'CrossOrigin', "Sec-Fetch-Site: $site");
}
my $port = $nginx->port;
for my $origin ('http://evil.example', "http://localhost:@{[$port + 1]}", 'http://localhost', 'null', '', "ftp://localhost:$port") {
    refused(post('/limits/key', $reset, Host => "localhost:$port", Origin => $origin), 403, 'CrossOrigin', "Origin: $origin");
}
for my $type ('text/plain', 'multipart/form-data; boundary=x', 'application/json', 'application/x-www-form-urlencodedx') {
    refused($nginx->post('/limits/key', $reset, 'Content-Type' => $type), 415, 'UnsupportedMediaType', "Content-Type: $type");
}
refused($nginx->post('/limits/key', $reset), 415, 'UnsupportedMediaType', 'no Content-Type');
refused(post('/limits/key', $reset, Host => 'evil.example'), 403, 'Forbidden', 'a Host that is not its own');
refused(post('/limits/key', $reset, Via => '1.1 proxy'), 403, 'Forbidden', 'from a proxy');
like refused($nginx->get('/limits/key', Via => '1.1 proxy'), 403, 'Forbidden', 'a GET from a proxy')->body, qr/from=any/, '... says what to configure';
my sub tells_nothing ($response, $what) {
    is $response->status, 403, $what;
    like $response->body, qr{<h1>[A-Z][^<]*\.</h1>}, '... in a sentence';
    like $response->body, qr{ – rate limits</title>}, '... without the name of the machine';
    unlike $response->body, qr/<form|<option|core/, '... nor a form, or a name of a limit';
    return;
}
my @browser = (Accept => 'text/html,*/*;q=0.8');
tells_nothing($nginx->get('/limits/key', @browser, Via => '1.1 proxy'), 'a browser behind a proxy');
tells_nothing($nginx->get('/limits/', @browser, Via => '1.1 proxy'), '... at the page');
tells_nothing($nginx->get('/limits/key', @browser, Host => 'evil.example'), 'one that was led here by a foreign name');
tells_nothing(post('/limits/key', $reset, @browser, Host => 'evil.example'), '... and posts');
tells_nothing(post('/limits/key', $reset, @browser, 'Sec-Fetch-Site' => 'cross-site'), 'a page of another origin');
for my $uri ('/limits/key', '/file/key') {
    refused(post($uri, $reset . '&x=' . ('x' x 8192)), 413, 'PayloadTooLarge', 'more than 8k');
    my $chunk = $reset . '&x=' . ('x' x 9000);
    my $body  = sprintf "%x\r\n%s\r\n0\r\n\r\n", length $chunk, $chunk;
    refused(post($uri, $body, 'Transfer-Encoding' => 'chunked'), 413, 'PayloadTooLarge', '... in chunks');
}
is used(), 2, 'nothing was done';

my @may = (
    [], ['Sec-Fetch-Site' => 'same-origin'], ['Sec-Fetch-Site' => 'same-origin', Origin => 'null'],
    [Host => "localhost:$port",   Origin => "http://localhost:$port"],
    [Host => 'limits.test',       Origin => 'https://limits.test'],
    [Host => 'LIMITS.test:443',   Origin => 'https://limits.test'],
    [Host => "[::1]:$port",       Origin => "http://[::1]:$port"],
);
for my $headers (@may) {
    is post('/limits/key', $reset, @$headers)->status, 200, "may act: @$headers";
    is used(), 1, '... and has';
}
is post('/file/key', $reset . '&x=' . ('x' x 8000))->status, 200, 'a form in a file';
is used(), 1, '... is read';
is post('/limits/key', $reset . '&x=' . ('x' x 8000))->status, 200, 'one that is longer than the buffer';
is used(), 1, '... is read';
is post('/limits/key', $reset, 'Content-Type' => "$form; charset=utf-8")->status, 415, 'two types';
is $nginx->post('/limits/key', $reset, 'Content-Type' => "$form; charset=utf-8")->status, 200, 'a type with a charset';

done;
