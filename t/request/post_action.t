# The status that the client got decides what a response costs, and whether it is free. The location that post_action runs in
# the same request, before it is logged, changes neither. It does not make a request free either whose client left before
# there was a status.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $conn->hold('gate', [200, ['X-Cost' => 3], 'late']) if $request->{uri} =~ /held/;
    my ($status) = $request->{uri} =~ /(\d+)$/;
    return [$status, ['X-Cost' => $request->{uri} =~ /after/ ? 7 : 3], ''];
});
my $up    = 'http://' . $backend->address;
my @modes = map { [split /-/] } qw(local-check_charge local-charge_refund main-check_charge main-charge_refund main-lease);
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_key $http_x_key; log_format end "$http_x_key used $rate_limit_used of $rate_limit_limit";',
    server => 'access_log %%DIR%%/ends end; location /after/ { internal; ' . "proxy_pass $up; }" . join '', map {
        my ($store, $mode) = @$_;
        my $limit = "rate_limit 99r/h store=$store mode=$mode name=$store-$mode";
        join('', map { "location /$store-$mode/then$_/ { proxy_pass $up; $limit cost=\$upstream_http_x_cost;
            post_action /after/$_; }" } 200, 304) . "location /$store-$mode/look/ { alias %%DIR%%/html/; $limit cost=0; }\n"
    } @modes,
);

for (@modes) {
    my $name = join '-', @$_;
    my $used = sub ($key) {
        return $redis->used($key, "$name/3600") if $name =~ /main-c/;
        return limits($nginx->get("/$name/look/x", 'X-Key' => $key))->{used};
    };
    my $ask = sub ($key, $status, $after) {
        return $nginx->get("/$name/then$after/$status", 'X-Key' => "$name-$key")->status;
    };

    is $ask->('paid', 200, 304), 200, "$name: 200, and 304 after it";
    wait_until { $used->("$name-paid") == 3 } what => "$name: it is paid, at its own cost";
    $nginx->wait_line('ends', "$name-paid used 3 of 99");
    is $ask->('free', 304, 200), 304, "$name: 304, and 200 after it";
    wait_until { $used->("$name-free") == 0 } what => "$name: it is free";
    $nginx->wait_line('ends', "$name-free used 0 of 99");

    my $http     = $nginx->reach($backend, "/$name/then304/held", 'X-Key' => "$name-left");
    my $requests = $backend->requests;
    $http->abort;
    wait_until { $backend->requests > $requests } what => 'post_action';
    wait_until { $used->("$name-left") > 0 } what => "$name: who leaves before there is a status pays";
}
$nginx->stop;
is $nginx->count_log(qr/doubt|lost|dropped|could not be checked/), 0, 'nothing went wrong';

done;
