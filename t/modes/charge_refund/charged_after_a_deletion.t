# A request that held nothing is charged at its end. If a refund of another machine has deleted its window meanwhile, the charge
# opens it anew, with an end, so that what others charge then is added to it. (An increment would be overwritten.)

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my ($gate, $status, $cost) = $request->{uri} =~ m{/(\w+)/(\d+)/(\d+)};
    $conn->hold($gate, [$status, ['X-Cost' => $cost], '']);
});
my @nginx = map {
    RateLimit::Nginx->start(
        http   => redis_block('main', $_, 'check_timeout 20s; connect_timeout 20s; charge_timeout 30s;') . '
            map $upstream_http_x_cost $cost { volatile; default $upstream_http_x_cost; "" $arg_before; }',
        server => 'rate_limit_store main; rate_limit_key w; rate_limit_mode charge_refund; rate_limit_cost $cost;
            location / { rate_limit 100r/h; proxy_pass http://' . $backend->address . '; }',
    )
} $proxy, $redis;
my ($here, $there) = @nginx;

my $opens = $there->reach($backend, '/opens/304/1?before=1');
my $late  = $here->reach($backend, '/late/200/30?before=0');
is $redis->used('w'), 1, 'a window is open, as the machine knows that charges at the end only';
$backend->release('opens');
is $opens->response->status, 304, 'what opened it is exempt';
wait_until { !$redis->keys } what => 'the refund, which deletes it';
my $other = $there->reach($backend, '/other/200/20?before=0');
$proxy->stall('answers');
$backend->release('late');
is $late->response->status, 200, 'charged 30';
wait_until { $redis->used('w') == 30 } what => 'the charge, whose answer does not arrive';
ok $redis->stored('w')->{reset}, 'it opened a window with an end';
$backend->release('other');
is $other->response->status, 200, 'the other machine charges 20';
wait_until { $redis->used('w') == 50 } what => 'both to be stored';
$proxy->flow;
$_->stop for @nginx;
is $_->count_log(qr/doubt|dropped|lost/), 0, 'nothing is in doubt' for @nginx;

done;
