# A zone of the least size, full of windows that are used up: running requests of further keys cannot be counted, and rate_limit_on_error decides
# about them, in either store, as the log says. Those that pass so take nothing, and once there is room their limits hold.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, clock => 1, log_level => 'notice', http => redis_block('main', $redis) . 'rate_limit_zone 128k;',
    server => 'rate_limit_key $arg_k; rate_limit_log_level info; keepalive_requests 1000000; add_header X-Outcome $rate_limit_status always;
        location /fill { rate_limit 1r/h; }' . join '', map {
            my $limit = "rate_limit_concurrency 2 name=of-$_ store=$_";
            "location /$_ { $limit; proxy_pass http://%%UP%%; }
             location /deny-$_ { rate_limit_on_error deny; $limit; proxy_pass http://%%UP%%; }
             location /self-$_ { rate_limit_on_error local; $limit; proxy_pass http://%%UP%%; }
             location /dry-$_ { rate_limit_on_error deny; $limit dry_run=on; proxy_pass http://%%UP%%; }"
        } qw(local main));

my @open = map { $nginx->reach($backend, "/$_/slow?k=old") } qw(local local main main);
$nginx->parallel(connections => 20, requests => [map { ["/fill?k=$_"] } 1 .. 3000]);
for my $store (qw(local main)) {
    is outcome($nginx->get("/$store?k=old")), '429 REJECTED', "$store: what runs is not driven out";
    is outcome($nginx->get("/deny-$store?k=new")), '503 ERROR_DENIED', '... another key finds no room, and deny denies';
    is outcome($nginx->get("/dry-$store?k=new")), '200 ERROR_ALLOWED', '... not in a dry run';
    push @open, map { $nginx->reach($backend, "/$store/slow?k=new") } 1 .. 4;
    is outcome($nginx->get("/$store?k=new")), '200 ERROR_ALLOWED', '... allow allows, however many run';
    is outcome($nginx->get("/self-$store?k=new")), '200 ERROR_ALLOWED', '... and local too, for it has no room either';
    $nginx->wait_log(qr/rate limit "of-$store" in \S+ could not be checked: no room in "rate_limit_zone": enlarge it/);
}
is $redis->cmd('EXISTS', 'rl:of-main/n:new'), 0, 'Redis was not asked';

$nginx->travel('+3700');
for my $store (qw(local main)) {
    my @all;
    wait_until { outcome($nginx->get("/deny-$store?k=new")) eq '200 PASSED' } what => "$store: room, as the windows have ended";
    push @all, map { $nginx->reach($backend, "/$store/slow?k=new") } 1, 2;
    is outcome($nginx->get("/$store?k=new")), '429 REJECTED', "$store: two run that are counted, and no third";
    push @open, @all;
}
$backend->release('gate');
is_deeply outcomes(map { $_->response } @open), {'200 PASSED' => 8, '200 ERROR_ALLOWED' => 8}, 'all end';
for my $store (qw(local main)) {
    wait_until { outcome($nginx->get("/$store?k=$_")) eq '200 PASSED' } what => "$store, $_: a slot" for qw(old new);
    @open = map { $nginx->reach($backend, "/$store/slow?k=new") } 1, 2;
    is outcome($nginx->get("/$store?k=new")), '429 REJECTED', "$store: the ends of those that were not counted free nothing";
    $backend->release('gate');
    $_->response for @open;
}

done;
