# A `clear` also ends an override that was set on this machine alone, before a reload to `overrides shared`, where machines share the overrides of a store. The log
# says which override there was, and that there is none now.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my sub http ($scope) { return redis_block('main', $redis, "overrides $scope; " . timeouts('9s')) . 'rate_limit_key $http_x_key;' }
my $nginx = RateLimit::Nginx->start(
    http   => http('machine'),
    server => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/h store=main; }',
);
my sub act ($body) {
    my $response = $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded');
    is $response->status, 200, $body or diag $response->body;
    return decode_json($response->body);
}
my sub last_line () { return (grep { /by the console/ } split /\n/, $nginx->error_log)[-1] }

is act('do=ban&limit=default&key=a&for=1h')->{override}{scope}, 'machine', 'a ban of this machine alone';
$nginx->reload(http => http('shared'), wait_old => 1);
is $nginx->get('/x', 'X-Key' => 'a')->status, 429, '... holds';
is act('do=clear&limit=default&key=a')->{override}, undef, '... until it is cleared';
is $nginx->get('/x', 'X-Key' => 'a')->status, 200, '... for requests, too';
like last_line(), qr/override: none, before: ban for 3\d{3} s, by the console/, '... and the log says so';
is act('do=clear&limit=default&key=a')->{override}, undef, 'a clear of nothing';
like last_line(), qr/override: none, before: none, by the console/, '... is logged as that';

done;
