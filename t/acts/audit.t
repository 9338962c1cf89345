# Each act is logged at notice with the client's address, the user if nginx has asked for one, the limit, the id, what was and what is. The key is in it
# only under keys=plain, where nobody can forge a line by it. A look-up is no act.

use RateLimit::Test;
use MIME::Base64;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_key $http_x_key;', files => {users => "op:{PLAIN}secret\n"},
    server => 'location /limits/ { rate_limit_console manage; } location /plain/ { rate_limit_console manage keys=plain; auth_basic x; auth_basic_user_file %%DIR%%/html/users; }
        location /unasked/ { set $who $remote_user; rate_limit_console manage; }
        location /core { rate_limit 5r/h name=core store=main mode=charge_refund; } location /mine { rate_limit 5r/h name=mine; }',
);
my sub post ($at, $body, @headers) {
    my $response = $nginx->post($at, $body, 'Content-Type' => 'application/x-www-form-urlencoded', @headers);
    is $response->status, 200, $body;
    return $response->json;
}
my sub lines () { return grep { /by the console/ } split /\n/, $nginx->error_log }
$nginx->get($_, 'X-Key' => 'alice') for ('/core') x 4, ('/mine') x 3;

my $id = post('/limits/key', 'key=alice&limit=core')->{id};
is lines(), 0, 'a look-up leaves no line';
post('/limits/key', 'do=add&key=alice&limit=core&cost=3');
post('/limits/key', 'do=reset&key=alice&limit=core');
post('/limits/key', 'do=reset&key=alice&limit=mine');
my @lines = lines();
like $lines[0], qr/\[notice\].* rate limit "core" of "main", id $id: 3 given back in 3600 s: 4 used, now 1, by the console, client: 127\.0\.0\.1,/, 'a part';
like $lines[1], qr/rate limit "core" of "main", id $id: reset in 3600 s: 1 used, now 0, by the console,/, 'all';
like $lines[2], qr/rate limit "mine" of "local", id [0-9a-f]{16}: reset in 3600 s: 3 used, now 0, by the console,/, 'of memory';
is @lines, 3, 'a line each';
post('/limits/key', "do=reset&key=nobody&limit=$_") for qw(core mine);
like +(lines())[-1], qr/"mine" of "local", id [0-9a-f]{16}: reset in 3600 s: 0 used, now 0/, 'also where there was no window';
is lines(), 5, '... in either store';
post('/limits/key', 'do=clear&limit=core&key=alice');
like +(lines())[-1], qr/rate limit "core" of "main", id $id: override: none, before: none, by the console,/, 'a clear of nothing';
is lines(), 6, '... is an act, too';
unlike join("\n", @lines), qr/alice/, 'without the key';

post('/plain/key', 'do=reset&limit=core&key=alice', Authorization => 'Basic b3A6c2VjcmV0');
like +(lines())[-1], qr/id $id, key "alice": reset in 3600 s: 0 used, now 0, by the console of user "op",/, 'with the key, and by whom';
post('/plain/key', 'do=reset&limit=core&key=x%0a2026+%5bnotice%5d+forged%22', Authorization => 'Basic b3A6c2VjcmV0');
like +(lines())[-1], qr/key "x\\x0A2026 \[notice\] forged\\x22": reset/i, 'a key forges no line';
post('/unasked/key', 'do=reset&limit=core&key=alice', Authorization => 'Basic ' . encode_base64(qq{op"\n2026 [notice] forged:x}, ''));
like +(lines())[-1], qr/now 0, by the console of user "op\\x22\\x0a2026 \[notice\] forged",/, '... nor does a name that nobody has asked to prove';

done;
