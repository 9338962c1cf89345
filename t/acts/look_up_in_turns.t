# A look-up of a key under many limits takes several turns of the worker's event loop: a request that comes meanwhile does not wait for its end. Each limit is
# in it once, as JSON and as a page, with what is used of it; also where primaries are asked, and where the client leaves.

use RateLimit::Test;

my $limits = 500;
my @form   = ('Content-Type' => 'application/x-www-form-urlencoded');
my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 64m; log_format uri $request_uri;' . redis_block('main', $redis, timeouts('9s')),
    server => join("\n", 'access_log %%DIR%%/order uri; rate_limit_key $arg_k; location /limits/ { rate_limit_console manage; } location = /beside { return 204; }',
        (map { "location /x$_ { rate_limit 9r/d name=l$_; }" } 1 .. $limits),
        map { "location /y$_ { rate_limit 9r/d name=r$_ store=main mode=charge_refund; }" } 1 .. 200),
);
$nginx->get("/x$_?k=a") for 1, 250, $limits;
$nginx->get("/y$_?k=a") for 1, 200;

my sub order () { return grep { m{now|key} } $nginx->lines('order') }

# Both requests wait in their sockets when the worker goes on.
my ($worker) = $nginx->workers;
my ($first, $beside) = map { $nginx->http } 1, 2;
$_->request('GET', '/beside') for $first, $beside;
kill STOP => $worker;
$first->start_request('POST', '/limits/key', \@form, 'key=a&store=local');
$beside->start_request('GET', '/beside?now');
kill CONT => $worker;
is $beside->response->status, 204, 'the request beside it is answered';
my $answer = $first->response;
is $answer->status, 200, 'and so is the look-up';
wait_until { (my @both = order()) == 2 } what => 'both in the log';
is_deeply [order()], ['/beside?now', '/limits/key'], '... after it, though it was asked first';

my sub used ($told) { return {map { my $limit = $_; map { ($limit->{limit} => $_->{used}) } @{$limit->{windows}} } @$told} }
my $told = $answer->json;
is_deeply [map { $_->{limit} } @$told], [map { "l$_" } 1 .. $limits], 'each limit is there, in the order of their lines';
is_deeply used($told), {map { ("l$_" => 1) } 1, 250, $limits}, '... with what is used';

$told = $nginx->act('key=a')->json;
is_deeply [map { $_->{limit} } @$told], [(map { "l$_" } 1 .. $limits), map { "r$_" } 1 .. 200], 'those in Redis, too';
is_deeply used($told), {map { ($_ => 1) } 'l1', 'l250', "l$limits", 'r1', 'r200'}, '... as the primary knows them';

my $page = $nginx->act('key=a', Accept => 'text/html')->body;
is_deeply [$page =~ /id="found-(\d+)"/g], [1 .. $limits + 200], 'and the page has each once';
like $page, qr{</html>\s*$}, '... to its end';
is ref $nginx->act('key=a&limit=l7')->json, 'HASH', 'one that is named is no list';

my $leaving = $nginx->http;
$leaving->start_request('POST', '/limits/key', \@form, 'key=a');
$leaving->abort;
is $nginx->act('key=a&limit=none')->status, 404, 'a client that leaves harms nothing';
$redis->kill;
is $nginx->act('key=a')->status, 503, 'where a primary is gone, that is the answer';

done;
