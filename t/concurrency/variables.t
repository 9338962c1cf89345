# The variables and the list of keys that are rejected most know limits of running requests, which have no reset.

use RateLimit::Test;
use JSON::PP;

my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend,
    server => 'rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }
        location / { rate_limit_concurrency 2; add_header X-All $rate_limit_all always; add_header X-Source $rate_limit_source always;
            add_header X-Reset "<$rate_limit_reset>" always; proxy_pass http://%%UP%%; }',
);
my sub shown ($response) { return join ' ', map { $response->header($_) // '-' } qw(X-All X-Source X-Reset) }
is shown($nginx->get('/?k=a')), 'concurrency=PASSED:1/2 memory <>', 'a request that passes';
my @open     = map { $nginx->reach($backend, '/slow?k=a') } 1 .. 2;
my $rejected = $nginx->get('/?k=a');
like shown($rejected), qr{^concurrency=REJECTED:2/2 memory <\d+>$}, 'one that is rejected may come again in a second';
my $json = decode_json($nginx->get('/limits/json')->body);
is_deeply [map { "$_->{limit} $_->{rejected}" } @{$json->{top}{keys}}], ['concurrency 1'], 'its key is listed';
my ($limit) = @{$json->{limits}};
is sum0(map { $_->{rejected} } @{$limit->{minutes}}), 1, '... and its minute';
$backend->release('gate');
is $_->response->status, 200 for @open;

done;
