# A demoted primary answers READONLY to one reservation, and to the next one, of a used-up window, what needs no write.
# That is no proof that it takes writes: a new connection is made all the same, which leads to the new primary.

use RateLimit::Test;

my $old   = RateLimit::Redis->start;
my $new   = RateLimit::Redis->start(replica_of => $old);
my $proxy = RateLimit::Proxy->start(to => $old->port);
my $nginx = RateLimit::Nginx->with_limit('3r/h mode=charge_refund', redis_block('main', $proxy, timeouts('9s')),
    more => 'rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;');
my sub ask ($key) { return outcome($nginx->get('/x', 'X-Key' => $key)) }

is ask('used-up'), '200 PASSED', "$_ of 3" for 1 .. 3;
$new->wait_synced;
$new->cmd(qw(REPLICAOF NO ONE));
$proxy->lead_to($new->port);
$old->cmd('REPLICAOF', '127.0.0.1', $new->port);

# Both lie in one connection, in this order.
$proxy->stall('questions');
my @clients = map { $nginx->begin('/x', 'X-Key' => $_) } qw(other used-up);
$proxy->flow;
is_deeply [map { outcome($_->response) } @clients], ['503 ERROR_DENIED', '429 REJECTED'], 'READONLY, and an answer';
wait_until { ask('later') eq '200 PASSED' } what => 'reservations at the new primary';
cmp_ok $proxy->connections, '>=', 2, 'on a new connection';
$nginx->stop;
is $nginx->count_log(qr/doubt|does not serve|is down/), 0, 'nothing is lost';

done;
