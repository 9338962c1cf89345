# worker_shutdown_timeout cuts requests: their charges still reach a healthy primary, be the connection to it new, idle
# or older than the requests.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start;
sub charged ($name) { return $shards->primary->used('k', "$name/3600") }

for my $connected (qw(never before after)) {
    my $nginx = RateLimit::Nginx->with_limit("500r/h name=$connected", $shards->block('main', timeouts('9s')), key => 'k',
        main => 'worker_shutdown_timeout 300ms;', more => 'proxy_pass http://' . $app->address . ';');
    my $done    = 0;
    my $connect = sub {
        is $nginx->get('/now')->status, 200, 'a request that ends';
        $done = 1;
        wait_until { charged($connected) == 1 } what => 'its charge';
    };
    $connect->() if $connected eq 'before';
    my @cut = map { $nginx->reach($app, '/slow') } 1 .. 20;
    $connect->() if $connected eq 'after';
    $nginx->reload(wait_old => 1);
    is charged($connected), @cut + $done, "connected to the primary $connected: cut requests are charged";
    unlike $nginx->error_log, qr/rate limit: /, 'nothing is in doubt or lost';
    $nginx->stop;
}

done;
