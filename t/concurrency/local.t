# In `local` a client has as many requests running as the limit says, and a slot is free again when a request ends.

use RateLimit::Test;

my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend,
    server => 'rate_limit_headers github ietf;
        location / { rate_limit_concurrency 2 name=slots key=$arg_k; proxy_pass http://%%UP%%; }',
);

my @open = map { $nginx->reach($backend, '/slow?k=a') } 1 .. 2;
my $rejected = $nginx->get('/?k=a');
is $rejected->status, 429, 'the third is rejected';
is $rejected->header('Retry-After'), 1, 'for a second';
is $rejected->header('X-RateLimit-Limit'), 2;
is $rejected->header('X-RateLimit-Used'), 2;
is $rejected->header('X-RateLimit-Remaining'), 0;
is $rejected->header('X-RateLimit-Resource'), 'slots';
like $rejected->header('X-RateLimit-Reset') - $rejected->date, qr/^[12]$/, 'its reset is a second from now, rounded up';
is $rejected->header('RateLimit-Policy'), '"slots";q=2;qu="concurrent-requests"';
is $rejected->header('RateLimit'), '"slots";r=0', 'nobody knows when more is available';
is $nginx->get('/?k=b')->status, 200, 'another client has slots of its own';

$backend->release('gate');
is $_->response->status, 200 for @open;
my $next = $nginx->get('/?k=a');
is $next->status, 200, 'the slots are free again';
is $next->header('X-RateLimit-Used'), 1, 'this request counts';
is $next->header('X-RateLimit-Remaining'), 1;
is $next->header('X-RateLimit-Reset'), undef, 'there is no window that ends';
is $next->header('RateLimit'), '"slots";r=1';

done;
