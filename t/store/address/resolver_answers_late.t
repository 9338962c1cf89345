# A request does not wait for the resolver: it may take a new connection to the server that a name has just left. When the answer names
# another one, that connection is left for it, and nothing is lost.

use RateLimit::Test;

my $name  = '127.1';
my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my $old   = RateLimit::Redis->start;
my $new   = RateLimit::Redis->start(host => '127.0.0.2', port => $old->port);
my $nginx = RateLimit::Nginx->with_limit('1000000r/h',
    'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $old->port),
    more => 'rate_limit_on_error deny;');
my sub pass ($key) { return is $nginx->get('/x', 'X-Key' => $key)->status, 200, "$key passes" }

pass('before');
wait_until { $old->used('before') == 1 } what => 'its charge';

$dns->set($name => '127.0.0.2');
$dns->freeze;
$old->drop_clients;
pass('meanwhile');
wait_until { $old->used('meanwhile') == 1 } what => 'its charge at the old server';

$dns->thaw;
wait_until { () = $dns->records } what => 'a question';
wait_until { pass('after'); $new->used('after') } what => 'charges at the new server';
pass('at last');
wait_until { $new->used('at last') == 1 } what => 'its charge';
is $old->used('at last'), 0, 'and none at the old one';
$nginx->stop;
is $nginx->count_log(qr/is down|does not serve|could not be checked|doubt|dropped/), 0, 'without an outage';

done;
