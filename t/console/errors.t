# All errors of the console have one form: JSON with a code and a sentence, or for who asks for text/html a page with that sentence. Neither says
# anything that the request says.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(server => 'rate_limit_key k; rate_limit 1r/h;
    location /limits/ { rate_limit_console view; } location /manage/ { rate_limit_console manage; }');
for my $base ('/limits', '/manage') {
    for my $case (
        ['GET',  "$base/<script>", [], 404, 'PathNotFound', qr/^There is no such page here\.$/],
        ['POST', "$base/json",     [], 405, 'MethodNotAllowed', qr/^It is read, by GET or HEAD\.$/],
        ['GET',  "$base/json", ['X-Forwarded-For' => '192.0.2.1'], 403, 'Forbidden', qr/add "from=any" to "rate_limit_console"/],
    ) {
        my ($method, $uri, $headers, $status, $code, $sentence) = @$case;
        my $response = $nginx->request($method, $uri, $headers);
        is $response->status, $status, "$method $uri";
        is $response->header('Content-Type'), 'application/json', '... is JSON';
        my $error = $response->json;
        is_deeply [sort keys %$error], [qw(description error)], '... with two members';
        is $error->{error}, $code, "... $code";
        like $error->{description}, $sentence, '... and why';
        my $html = $nginx->request($method, $uri, [@$headers, Accept => 'text/html,*/*']);
        is $html->status, $status, '... the same for people';
        is $html->header('Content-Type'), 'text/html; charset=utf-8', '... as HTML';
        like $html->header('Content-Security-Policy'), qr/default-src 'none'/, '... that may do nothing';
        (my $text = $html->body) =~ s/&quot;|&#34;/"/g;
        like $text, qr/\Q$error->{description}/, '... with the same sentence';
        unlike $_->body, qr/script>|%3[cC]/, '... and nothing of the request' for $response, $html;
        is $_->header('Allow'), $status == 405 ? 'GET, HEAD' : undef, '... Allow' for $response, $html;
        is $_->header('Cache-Control'), 'no-store', '... not to be kept' for $response, $html;
    }
}

done;
