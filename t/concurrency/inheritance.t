# The lines of rate_limit and of rate_limit_concurrency are inherited each for itself; `off` ends those of its own directive.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http => 'rate_limit_key $arg_k; rate_limit_headers ietf; rate_limit 9r/h name=window; rate_limit_concurrency 5 name=slots;
        server { listen 127.0.0.1:%%PORT_1%%; rate_limit off; location / { } location /none { rate_limit_concurrency off; }
            location /mine { rate_limit_concurrency 3 name=mine; rate_limit_concurrency 4 name=more; } }',
    server => 'location / { }
        location /slots { rate_limit off; }
        location /windows { rate_limit_concurrency off; }
        location /none { rate_limit off; rate_limit_concurrency off; }
        location /mine { rate_limit_concurrency 3 name=mine; }
        location /other { rate_limit 7r/h name=other; }',
);

sub policy ($uri, $port = 0) {
    my $response = RateLimit::HTTP->new(port => $nginx->port($port))->get("$uri?k=a");
    return join ' ', sort(($response->header('RateLimit-Policy') // '') =~ /"(\w+)";q=\d+/g);
}

is policy('/'), 'slots window', 'both lists come from http';
is policy('/slots'), 'slots', 'rate_limit off leaves the slots';
is policy('/windows'), 'window', 'rate_limit_concurrency off leaves the windows';
is policy('/none'), '', 'both off';
is policy('/mine'), 'mine window', 'a line replaces the list of its own directive';
is policy('/other'), 'other slots', '... and that of the other one, too';
is policy('/', 1), 'slots', 'the same in a server';
is policy('/none', 1), '', '... which ends one list, and its location the other';
is policy('/mine', 1), 'mine more', '... or has lines of its own';

done;
