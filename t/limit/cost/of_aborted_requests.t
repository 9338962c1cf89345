# Clients that leave before the upstream has said what their requests cost: they pay that all the same where nginx waits for
# it (proxy_ignore_client_abort), and the map's high cost where it does not.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, ['X-Cost' => 7], 'late']) });
my $up      = 'http://' . $backend->address;
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        map $upstream_http_x_cost $cost { volatile; "" 50; default $upstream_http_x_cost; }
        rate_limit_key $http_x_key; log_format end "$status $http_x_key $cost";',
    server => 'access_log %%DIR%%/ends end;' . join '', map {
        my ($mode, $store) = @$_;
        "location /waits/$store/$mode/ { proxy_pass $up; proxy_ignore_client_abort on;
            rate_limit_mode $mode; rate_limit 5000r/h name=waits-$mode store=$store cost=\$upstream_http_x_cost; }
         location /high/$store/$mode/ { proxy_pass $up;
            rate_limit_mode $mode; rate_limit 5000r/h name=high-$mode store=$store cost=\$cost; }
         location /look/waits/$store/$mode/ { alias %%DIR%%/html/;
            rate_limit_mode $mode; rate_limit 5000r/h name=waits-$mode store=$store cost=0; }
         location /look/high/$store/$mode/ { alias %%DIR%%/html/;
            rate_limit_mode $mode; rate_limit 5000r/h name=high-$mode store=$store cost=0; }"
    } map { my $mode = $_; map { [$mode, $_] } qw(local main) } qw(check_charge charge_refund),
);

sub shown ($uri) { return limits($nginx->get("/look$uri", 'X-Key' => 'k'))->{used} }

for my $mode (qw(check_charge charge_refund)) {
    for my $store (qw(local main)) {
        for (['waits', 7], ['high', 50]) {
            my ($how, $cost) = @$_;
            my $uri     = "/$how/$store/$mode/x";
            my @clients = map { $nginx->reach($backend, $uri, 'X-Key' => 'k') } 1 .. 20;
            $_->abort for @clients;
            wait_until { shown($uri) == 20 * 50 } what => "$uri: charges" if $how eq 'high';
            $backend->release('gate');
            wait_until { shown($uri) == 20 * $cost } what => "$uri: 20 times $cost";
            is shown($uri), 20 * $cost, "$uri: 20 requests whose clients left pay $cost each";
        }
    }
}

done;
