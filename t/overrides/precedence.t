# The override of a key goes before that of its limit, and both before the configuration. `allow` and `off` lift the limit: other limits of the request
# stay, a location that is left without any shows nothing, and a redirect's location still limits. The later override of a subject replaces the earlier.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => 'rate_limit_key $http_x_key; log_format override "$http_x_key $uri [$rate_limit_override] [$rate_limit_status]";',
    server  => 'access_log override override;
        location /limits/ { rate_limit_console manage keys=plain; }
        location = /r { rate_limit 0r/s name=a; rate_limit_report; }
        location / { rate_limit 0r/s name=a; }
        location /both/ { alias %%DIR%%/html/; rate_limit 0r/s name=a; rate_limit 5r/h name=b; }
        location = /first { rate_limit 0r/s name=a; try_files /none /second; }
        location = /second { rate_limit 0r/s name=c; }',
);
my sub status ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key)->status }

is status('/x', 'k'), 429, 'configured';
is $nginx->does(do => 'allow', limit => 'a', key => 'k')->{override}{kind}, 'allow', 'the key is allowed';
is status('/x', 'k'), 200, '... and passes';
is $nginx->get('/x', 'X-Key' => 'k')->header('X-RateLimit-Limit'), undef, '... without headers';
$nginx->wait_line('override', 'k /x [allow] [-]');
is status('/x', 'l'), 429, '... but no other';
is limits($nginx->get('/both/x', 'X-Key' => 'k'))->{remaining}, 4, 'its other limit counts';
$nginx->wait_line('override', 'k /both/x [allow] [PASSED]');
is status('/first', 'k'), 429, 'the limit of another location holds after a redirect';
is $nginx->get('/r', 'X-Key' => 'k')->status, 404, 'a report has no limit to tell of';

$nginx->does(do => 'off', limit => 'a');
is status('/x', 'l'), 200, 'the limit is off';
$nginx->wait_line('override', 'l /x [off] [-]');
is $nginx->does(do => 'ban', limit => 'a', key => 'k')->{override}{kind}, 'ban', 'a ban replaces what the key had';
is status('/x', 'k'), 429, '... and goes before what the limit has';
$nginx->does(do => 'enforce', limit => 'a', percent => 0);
is status('/x', 'l'), 200, 'so does the later of the limit';
$nginx->wait_line('override', 'l /x [enforce] [REJECTED_DRY_RUN]');

my $json = $nginx->told;
is_deeply [sort map { join ' ', map { $_ // '-' } @$_{qw(limit store key kind percent by scope)} } @{$json->{overrides}}],
    ['a local - enforce 0 127.0.0.1 machine', 'a local k ban - 127.0.0.1 machine'], 'the console shows both';
like $_->{id} // 'ffffffffffffffff', qr/^[0-9a-f]{16}$/, '... with the id' for @{$json->{overrides}};
is $json->{limits}[0]{enforced}, 100, 'enforced is what is configured';
my $metrics = $nginx->get('/limits/metrics')->body;
is_deeply {$metrics =~ /^nginx_rate_limit_overrides\{kind="(\w+)"\} (\d+)$/mg}, {ban => 1, allow => 0, enforce => 1, off => 0}, 'and so do metrics';

is $nginx->does(do => 'clear', limit => 'a', key => 'k')->{override}{kind}, 'enforce', 'without that of the key the limit has one';
is $nginx->does(do => 'clear', limit => 'a')->{override}, undef, 'and then none';
is status('/x', 'k'), 429, 'as configured';
is_deeply $nginx->told->{overrides}, [], 'nothing is left';
done;
