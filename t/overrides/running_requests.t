# Overrides hold for limits of running requests as for others.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, http => redis_block('main', $redis) . 'log_format o "$rate_limit_override";',
    server => 'rate_limit_key $arg_k; location /limits/ { rate_limit_console manage; }' . join '',
        map { "location /$_ { rate_limit_concurrency 1 name=$_ store=" . ($_ eq 'fleet' ? 'main' : 'local') . '; proxy_pass http://%%UP%%; }' } qw(fleet here),
);
my sub act ($fields) { is $nginx->post('/limits/key', $fields, 'Content-Type' => 'application/x-www-form-urlencoded')->status, 200, $fields }
for my $limit (qw(fleet here)) {
    my sub status ($key) { return $nginx->get("/$limit?k=$key")->status }
    my $open = $nginx->reach($backend, "/$limit/slow?k=a");
    is status('a'), 429, "$limit: one runs";
    act("do=allow&limit=$limit&key=a");
    is status('a'), 200, 'its key may';
    act("do=ban&limit=$limit&key=a");
    act("do=ban&limit=$limit&key=b");
    is status('b'), 429, 'another key may not, though none of it runs';
    act("do=clear&limit=$limit&key=$_") for qw(a b);
    is_deeply [status('a'), status('b')], [429, 200], 'as before';
    act("do=off&limit=$limit");
    is status('a'), 200, 'the limit is off';
    act("do=enforce&limit=$limit&percent=0");
    is status('a'), 200, 'a dry run for all';
    act("do=enforce&limit=$limit&percent=100");
    is status('a'), 429, 'and for none';
    act("do=clear&limit=$limit");
    $backend->release('gate');
    is $open->response->status, 200;
    wait_until { status('a') == 200 } what => 'its slot';
}

done;
