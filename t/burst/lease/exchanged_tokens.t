# Two free requests take a bucket's tokens; one ends at once, the other when the bucket has been refilled. What the second one took has been refilled
# by then, and others have taken it: it gives nothing back, although the bucket as it was left was to be full later.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my ($backend, $other) = map { RateLimit::Backend->start } 1, 2;
my $quick = $other->address;
my $nginx = RateLimit::Nginx->start(
    up => $backend, workers => 2, http => redis_block('main', $redis),
    server => "rate_limit_key \$arg_k; rate_limit_cost \$arg_c;
        location /local { rate_limit 2r/s burst=10; proxy_pass http://%%UP%%; location /local/quick { proxy_pass http://$quick; } }
        location /redis { rate_limit 2r/s burst=10 store=main; proxy_pass http://%%UP%%; location /redis/quick { proxy_pass http://$quick; } }",
);
my @stores = qw(local redis);
my (%quick, %slow);
for my $store (@stores) {
    $quick{$store} = $nginx->reach($other,   "/$store/quick/slow?k=a&c=5&status=304");
    $slow{$store}  = $nginx->reach($backend, "/$store/slow?k=a&c=5&status=304");
}
$other->release('gate');
is $quick{$_}->response->status, 304, "$_: one ends at once" for @stores;
for my $store (@stores) {
    wait_until { $nginx->get("/$store?k=a&c=10")->status == 200 } what => "$store: the bucket to be full";
}
$backend->release('gate');
for my $store (@stores) {
    is $slow{$store}->response->status, 304, "$store: the other ends";
    is $nginx->get("/$store?k=a&c=4")->status, 429, "$store: and gives nothing back" for 1 .. 10;
}

done;
