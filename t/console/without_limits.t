# The console keeps its usual form where no limit stands anywhere: metrics tell the build and requests at 0, and the JSON has all its members.

use RateLimit::Test;
use JSON::PP;

my $nginx = RateLimit::Nginx->start(server => 'location /limits/ { rate_limit_console view; }');
my $metrics = $nginx->get('/limits/metrics')->body;
like $metrics, qr/^nginx_rate_limit_build_info\{version="[^"]+",nginx="[^"]+"\} 1$/m, 'the build';
is scalar(() = $metrics =~ /^nginx_rate_limit_requests_total\{outcome="\w+"\} 0$/mg), 7, 'no request of any outcome';
my $told = decode_json($nginx->get('/limits/json')->body);
is_deeply [@$told{qw(since limits stores zone overrides)}], [undef, [], [], undef, []], 'the JSON has nothing to tell';
is_deeply $told->{top}, {since => undef, total => 0, others => 0, keys => []}, '... nor of keys';
is scalar(grep { $_ == 0 } values %{$told->{requests}}), 7, '... and no request of any outcome';
is $nginx->get('/limits/')->status, 200, 'the page is there';

done;
