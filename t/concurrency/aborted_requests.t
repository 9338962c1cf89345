# Clients that go away leak no slot, whether their requests wait for Redis, run, or are being answered.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, workers => 2, http => redis_block('main', $redis) . 'log_format ends "$status $rate_limit_status";',
    server => 'access_log %%DIR%%/ends ends;
        location /local { rate_limit_concurrency 5 name=here key=$arg_k; proxy_pass http://%%UP%%; }
        location /redis { rate_limit_concurrency 5 key=$arg_k store=main; proxy_pass http://%%UP%%; }',
);
$nginx->expect_log(qr/client prematurely closed connection|upstream prematurely closed/);
sub aborted () { return scalar grep { $_ eq '499 PASSED' } $nginx->lines('ends') }

# So many that had a slot: others were rejected before their clients went.
my $wanted = $ENV{ABORTED} // 1000;
while ((my $before = aborted()) < $wanted) {
    for my $round (1 .. 100) {
        for my $store (qw(local redis)) {
            $backend->forget;
            my @open = map { $nginx->begin("/$store/slow?k=a") } 1 .. 10;
            wait_until { $backend->requests || grep { !$_->quiet(0.001) } @open } what => 'some to run, or to be rejected' if $round % 2;
            $_->abort for @open;
        }
    }
    aborted() > $before or die "after $before no request gets a slot";
}
note aborted(), ' of ', scalar $nginx->lines('ends'), ' aborted requests had a slot';
$backend->release('gate');
for my $store (qw(local redis)) {
    wait_until {
        my @all = map { $nginx->begin("/$store?k=a") } 1 .. 5;
        5 == grep { $_->response->status == 200 } @all;
    } what => "$store: all slots";
    my @open = map { $nginx->reach($backend, "/$store/slow?k=a") } 1 .. 5;
    is $nginx->get("/$store?k=a")->status, 429, "$store: and no more than these";
    $backend->release('gate');
    is $_->response->status, 200 for @open;
}
wait_until { !grep { /^[1-9]/ } values %{$redis->hash('rl:concurrency/n:a')} } what => 'Redis to hold none';

done;
