# A request that takes from a bucket, runs until that is full again, and is free: nothing goes back, or others would have had the same tokens,
# and more would pass at once than the burst.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, http => redis_block('main', $redis),
    server => 'rate_limit_key $arg_k; rate_limit_cost 4;
        location /local { rate_limit 1r/s burst=4; proxy_pass http://%%UP%%; }
        location /redis { rate_limit 1r/s burst=4 store=main; proxy_pass http://%%UP%%; }',
);
my @stores = qw(local redis);
my %open   = map { $_ => $nginx->reach($backend, "/$_/slow?k=a&status=304") } @stores;
my $full   = monotonic() + 4.1;
is $nginx->get("/$_?k=a")->status, 429, "$_: all is taken" for @stores;
wait_until { monotonic() >= $full } what => 'the bucket to be full';
is $nginx->get("/$_?k=a")->status, 200, "$_: it is full again" for @stores;
$backend->release('gate');
is $open{$_}->response->status, 304, "$_: the first request ends, and is free" for @stores;
is $nginx->get("/$_?k=a")->status, 429, "$_: nothing has gone back" for @stores;

# But what was taken from a bucket that has not been full since does.
$backend->forget;
my %held = map { $_ => $nginx->reach($backend, "/$_/slow?k=b&status=304") } @stores;
is $nginx->get("/$_?k=b")->status, 429, "$_: all is taken" for @stores;
$backend->release('gate');
is $held{$_}->response->status, 304, "$_: it ends at once" for @stores;
for my $store (@stores) {
    wait_until { $nginx->get("/$store?k=b")->status == 200 } timeout => 3, what => 'what was given back';
}

done;
