# docs/recipes.md, "Health checks and networks": a path and a network without limits, and rates by network.

use RateLimit::Test;

my $app    = RateLimit::Backend->start;
my $recipe = code(project_file('docs/recipes.md'), 'recipe: networks');
my $nginx  = start_text("set_real_ip_from 127.0.0.1; real_ip_header X-Client;\n$recipe", app => $app);
sub limit_of ($address, $uri = '/') { return limits($nginx->get($uri, 'X-Client' => $address))->{limit} }

is limit_of('198.51.100.1'), 60,  'anybody';
is limit_of('10.1.2.3'),     600, 'our own network';
is limit_of('203.0.113.9'),  10,  'a network that went too far';
is limit_of('10.0.9.7'),     undef, 'monitoring is not limited';
is limit_of('127.0.0.1'),    undef, 'nor is this machine';
is limit_of('198.51.100.1', '/health'), undef, 'nor are health checks, from anywhere';

my $http = $nginx->http;
$http->get('/', 'X-Client' => '203.0.113.9') for 2 .. 10;
is $http->get('/', 'X-Client' => '203.0.113.9')->status, 429, 'the limit of a network is that of each of its clients';
is $http->get('/', 'X-Client' => '203.0.113.10')->status, 200, 'by itself';
is $http->get('/health', 'X-Client' => '203.0.113.9')->status, 200, 'and a health check passes';

done;
