# With many limits the console's answer is written in several turns of the worker's event loop: a request that comes while it is being
# written does not wait for its end. A client that leaves meanwhile harms nothing.

use RateLimit::Test;
use JSON::PP;

my $limits = 800;
my $nginx  = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 64m; rate_limit_key $arg_k; rate_limit_store local; log_format uri $request_uri;',
    server => join("\n", 'access_log %%DIR%%/order uri; location /limits/ { rate_limit_console view; } location = /beside { return 204; }',
        map { "location /x$_ { rate_limit ${_}r/d name=limit_$_; }" } 1 .. $limits),
);
$nginx->get("/x$_?k=a") for 1, $limits;

my sub order () { return grep { m{now|json} } $nginx->lines('order') }

# Both requests wait in their sockets when the worker goes on. By HEAD, so that no socket is full while the client looks elsewhere.
my ($worker) = $nginx->workers;
my ($first, $beside) = map { $nginx->http } 1, 2;
$_->request('GET', '/beside') for $first, $beside;
kill STOP => $worker;
$first->start_request('HEAD', '/limits/json');
$beside->start_request('GET', '/beside?now');
kill CONT => $worker;
is $beside->response->status, 204, 'the request beside it is answered';
is $first->response(method => 'HEAD')->status, 200, 'and so is the console';
wait_until { (my @both = order()) == 2 } what => 'both in the log';
is_deeply [order()], ['/beside?now', '/limits/json'], '... after it, though it was asked first';

my $told = $nginx->told;

is_deeply [map { $_->{name} } @{$told->{limits}}], [map { "limit_$_" } 1 .. $limits], 'all limits are told, in the order of their lines';
is_deeply [map { $_->{decisions}{passed} } @{$told->{limits}}[0, 1, -1]], [1, 0, 1], '... with their counts';
ok ref $told->{stores} && ref $told->{zone} && ref $told->{top}, 'and so is the rest';

# Shards, nodes and overrides are written piece by piece, too: nothing is missing, and nothing is there twice.
my $redis = RateLimit::Redis->start;
my ($shards, $bans) = (70, 120);
my $sharded = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 64m; rate_limit_redis main { ' . join("\n", map { "shard s$_ primary=@{[$redis->address]} replica=127.0.0.2:@{[$redis->port]};" } 1 .. $shards) . ' }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; location /limits/ { rate_limit_console manage keys=plain; } location / { rate_limit 5r/d name=w; }',
);
$sharded->act("key=k$_&limit=w&do=ban") for 1 .. $bans;
my ($json, $metrics, $page) = map { $sharded->get("/limits/$_")->body } 'json', 'metrics', '';
$told = decode_json($json);
is_deeply [map { $_->{name} } @{$told->{stores}}], ['main'], 'one store';
is_deeply [map { $_->{name} } @{$told->{stores}[0]{shards}}], [map { "s$_" } 1 .. $shards], 'each shard is told once';
is_deeply [grep { @{$_->{nodes}} != 2 } @{$told->{stores}[0]{shards}}], [], '... with its nodes';
is_deeply [sort map { $_->{key} } @{$told->{overrides}}], [sort map { "k$_" } 1 .. $bans], 'and each override';
for my $series (qw(waiting_windows lease_tokens_held store_wait_seconds_count)) {
    is_deeply [$metrics =~ /^nginx_rate_limit_$series\{store="main",shard="(\w+)"\} \d+$/mg], [map { "s$_" } 1 .. $shards], "$series of each";
}
is scalar(() = $metrics =~ /^nginx_rate_limit_node_up\{/mg), 2 * $shards, 'and of each node';
my ($nodes) = $page =~ m{<table id="store-1-nodes">(.*?)</table>}s;
is_deeply [$nodes =~ m{<th scope="rowgroup" rowspan="2">(\w+)</th>}g], [map { "s$_" } 1 .. 64], 'the page has 64 of them';
like $page, qr/These are the first of 70 shards; JSON has all\./, '... and says so';

for my $page ('', 'json', 'metrics') {
    my $leaving = $nginx->begin("/limits/$page");
    $leaving->abort;
}
is $nginx->get('/limits/metrics')->status, 200, 'clients that leave harm nothing';

done;
