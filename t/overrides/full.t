# There are at most 1,000 overrides: one more is refused with 409, and nothing else changes. One that is there can be replaced, and after one is cleared
# there is room again. A small zone has room for fewer.

use RateLimit::Test;
use JSON::PP;

my $console = 'location /limits/ { rate_limit_console manage; } location / { rate_limit 5r/h; }';
my $nginx   = RateLimit::Nginx->start(workers => 2, reuseport => 1, http => 'rate_limit_key $http_x_key;', server => $console);
my @form    = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub act ($body) { return $nginx->post('/limits/key', $body, @form) }
my sub count () { return scalar @{decode_json($nginx->get('/limits/json')->body)->{overrides}} }

my $http = $nginx->http;
is_deeply statuses(map { $http->request('POST', '/limits/key', \@form, "do=ban&limit=default&key=k$_") } 1 .. 1000), {200 => 1000}, '1,000 overrides';
is count(), 1000, '... are shown';
my $refused = act('do=ban&limit=default&key=k1001');
is $refused->status, 409, 'one more is refused';
is decode_json($refused->body)->{error}, 'Full', '... as Full';
is count(), 1000, '... and nothing has changed';
is $nginx->get('/x', 'X-Key' => 'k1001')->status, 200, '... for its key neither';
is_deeply statuses(map { $nginx->get('/x', 'X-Key' => "k$_") } 1, 500, 1000), {429 => 3}, 'all others hold';
is act('do=allow&limit=default&key=k500')->status, 200, 'one that is there is replaced';
is $nginx->get('/x', 'X-Key' => 'k500')->status, 200, '... and holds';
is act('do=clear&limit=default&key=k1')->status, 200, 'one less';
is act('do=off&limit=default')->status, 200, '... makes room for one';
is act('do=ban&limit=default&key=k1')->status, 409, '... and no more';

$nginx = RateLimit::Nginx->start(http => 'rate_limit_key $http_x_key; rate_limit_zone 128k;', server => $console);
my @statuses = map { act("do=ban&limit=default&key=k$_")->status } 1 .. 30;
is_deeply \@statuses, [(200) x 16, (409) x 14], 'a zone of 128k has room for 16';
done;
