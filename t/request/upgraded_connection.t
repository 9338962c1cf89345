# An upgraded connection is charged when its header is sent, in every mode, and is not in flight from then on. Its end
# changes nothing. An exempt one is free.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nX-Cost: 5\r\n\r\nhello";
});
my $up    = 'http://' . $backend->address;
my @modes = map { [split /-/] } qw(local-check_charge local-charge_refund main-check_charge main-charge_refund main-lease);
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_key $http_x_key; log_format end "$status $http_x_key";
        map $upstream_http_x_cost $cost { "" 2; default $upstream_http_x_cost; }
        proxy_http_version 1.1; proxy_set_header Connection upgrade; proxy_set_header Upgrade websocket;',
    server => 'access_log %%DIR%%/ends end;' . join '', map {
        my ($store, $mode) = @$_;
        my $limit = "rate_limit 9r/h store=$store mode=$mode name=$store-$mode";
        "location /$store-$mode/ { proxy_pass $up; $limit cost=\$cost; }
         location /$store-$mode/free/ { proxy_pass $up; $limit cost=\$cost exempt=101; }
         location /$store-$mode/look/ { alias %%DIR%%/html/; $limit cost=0; }\n"
    } @modes,
);

sub start ($uri, $key) {
    my $http = $nginx->begin($uri, 'X-Key' => $key, Connection => 'upgrade', Upgrade => 'websocket');
    my $response = $http->response(method => 'HEAD');    # the connection stays
    is $response->status, 101, "$uri: upgraded";
    return $http;
}

sub end ($http, $key) { return $nginx->abandon($http, 'ends', "101 $key") }

for (@modes) {
    my $name = join '-', @$_;
    my ($key, $free) = ("$name-paid", "$name-free");
    my $used = sub ($key) { return limits($nginx->get("/$name/look/x", 'X-Key' => $key))->{used} };
    my $stored = sub ($key) { return $name =~ /main-[^l]/ ? $redis->used($key, "$name/3600") : $used->($key) };

    my $http = start("/$name/x", $key);
    wait_until { $stored->($key) == 5 } what => "$name: the charge while it is open";
    is $used->($key), 5, "$name: charged while it is open, and nothing is in flight";
    my $other = start("/$name/free/x", $free);
    wait_until { $stored->($free) == 0 } what => "$name: what was reserved" if $name =~ /refund|lease/;
    is $used->($free), 0, "$name: an exempt one is free, also while it is open";
    end($http, $key);
    end($other, $free);
    is_deeply [$used->($key), $used->($free)], [5, 0], "$name: their ends change nothing";
}

my $calls = $redis->calls('hincrby') + $redis->script_calls;
my $http = start('/main-check_charge/x', 'counted');
wait_until { $redis->calls('hincrby') + $redis->script_calls > $calls } what => 'the charge';
end($http, 'counted');
$nginx->stop;
is $redis->used('counted', 'main-check_charge/3600'), 5, 'charged once';
is $nginx->count_log(qr/doubt|lost|dropped|could not be checked/), 0, 'nothing went wrong';

done;
