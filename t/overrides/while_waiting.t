# A request that waits for its store while an override changes is decided by what held when it was evaluated, charged by it, and leaves nothing in flight.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 10s; charge_timeout 20s;') . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; }
        location / { rate_limit 5r/h store=main; }
        location /reserved/ { alias %%DIR%%/html/; rate_limit 5r/h store=main name=reserved mode=charge_refund; }',
);
my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub override ($do, $limit, $key = '') {
    my $http = $nginx->http;
    $http->start_request('POST', '/limits/key', \@form, "do=$do&limit=$limit&key=$key");
    wait_until { grep { $_->{kind} eq $do } @{$nginx->told->{overrides}} } what => "the override: $do";
    return $http;
}

for my $case (['/x', 'default'], ['/reserved/x', 'reserved']) {
    my ($uri, $limit) = @$case;
    $nginx->get($uri, 'X-Key' => 'warm');
    $redis->freeze;
    my $waiting = $nginx->begin($uri, 'X-Key' => 'a');
    my $act     = override('ban', $limit, 'a');
    is $nginx->get($uri, 'X-Key' => 'a')->status, 429, "$limit: the ban holds for the next request";
    $redis->thaw;
    is $waiting->response->status, 200, '... but not for one that was evaluated before';
    is $act->response->status, 200, 'the act is answered';
    wait_until { $redis->used('a', "$limit/3600") == 1 } what => 'the charge';

    $redis->freeze;
    $waiting = $nginx->begin($uri, 'X-Key' => 'b');
    $act     = override('off', $limit);
    $redis->thaw;
    is $waiting->response->status, 200, 'nor does `off`';
    is $act->response->status, 200, 'the act is answered';
    wait_until { $redis->used('b', "$limit/3600") == 1 } what => 'the charge';
    my $shown = $nginx->does("limit=$limit&key=b");
    is_deeply [@{$shown->{windows}[0]}{qw(used in_flight)}], [1, 0], 'nothing is left in flight';
    $nginx->act("do=clear&limit=$limit&key=$_") for '', 'a';
}
done;
