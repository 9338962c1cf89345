# Refunds of a window leave before the next reservation of it, however many commands of other windows are queued, and these
# stay queued.

use RateLimit::Test;

my ($windows, $each) = (2500, 50);
my $primary = RateLimit::Redis->start;
my $replica = RateLimit::Redis->start;
my $proxy   = RateLimit::Proxy->start(to => $primary->port);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('backend', [304, [], '']) });
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', [$proxy, $replica], 'check_timeout 20s; charge_timeout 30s;'),
    server => 'rate_limit_store main; rate_limit_key $arg_k;
        location / {' . join('', map { "rate_limit 99r/h name=n$_;" } 1 .. $each) . '}
        location /first { rate_limit 99r/h; }
        location /one { rate_limit 1r/h name=one mode=charge_refund; }
        location /held { rate_limit 1r/h name=one mode=charge_refund; proxy_pass http://' . $backend->address . '; }',
);
is $nginx->get('/first?k=first')->status, 200, 'a client';
wait_until { $primary->used('first') == 1 } what => 'its charge';
my $held = $nginx->reach($backend, '/held?k=r');
is $primary->used('r', 'one/3600'), 1, 'one is reserved';

$proxy->stall('answers');
is $nginx->get('/first?k=first')->status, 200, 'the client again';
wait_until { $primary->used('first') == 2 } what => 'its charge, whose batch is under way until the answer comes';
my @requests = map { ["/x?k=$_"] } 1 .. $windows / $each;
is_deeply statuses($nginx->parallel(connections => 2, requests => \@requests)), {200 => scalar @requests}, "$windows windows are charged";
$backend->release('backend');
is $held->response->status, 304, 'an exempt response: its cost goes back';
$primary->forget_calls;
my $next = $nginx->begin('/one?k=r');
wait_until { $primary->script_calls == 2 } what => 'what the next request sends: the refund and the reservation';
is $primary->cmd('DBSIZE'), 2, 'the other windows wait for their batch';
$proxy->flow;
is $next->response->status, 200, 'the reservation of the only unit passes';
wait_until { $primary->cmd('DBSIZE') == 2 + $windows } what => 'all charges';

done;
