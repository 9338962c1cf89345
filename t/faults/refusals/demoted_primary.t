# A primary is demoted while its connection stays, and the address leads to the new one from then on: after READONLY
# nothing more is written on that connection, reads go on there, and a new connection takes all that waits.

use RateLimit::Test;

my $old = RateLimit::Redis->start;
my $new = RateLimit::Redis->start(replica_of => $old);
$new->wait_synced;
my $proxy = RateLimit::Proxy->start(to => $old->port);
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $proxy),
    server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
);
my $client = $nginx->http;
my sub ask ($uri, $key) { return outcome($client->get($uri, 'X-Key' => $key)) }

is ask('/x', 'k'), '200 PASSED', 'before' for 1 .. 3;
is ask('/reserve', 'k'), '200 PASSED', 'a reservation';
wait_until { $new->used('k') == 3 && $new->used('k', 'r/3600') == 1 } what => 'replication';

$new->cmd(qw(REPLICAOF NO ONE));
$old->cmd('REPLICAOF', '127.0.0.1', $new->port);
is ask('/x', 'k'), '200 PASSED', 'a check is answered by the one that was the primary' for 1 .. 5;
$nginx->wait_log(qr/refuses charges: readonly/);
my sub refused () { return $old->info('errorstats')->{errorstat_READONLY} =~ /count=(\d+)/ ? $1 : die 'no count' }
my $tries   = $proxy->connections;    # from here on both are counted: tries go on while the next requests are made
my $refused = refused();
is ask('/reserve', 'k'), '503 ERROR_DENIED', 'no reservation is asked of it';
is ask('/x', 'k'), '200 PASSED', 'while checks go on' for 1 .. 5;

# The address still leads to the old one: each try takes a new connection and one charge.
wait_until { $proxy->connections >= $tries + 3 } what => 'tries';
my $more = refused() - $refused;
cmp_ok $more, '>', 0, 'the tries write';
cmp_ok $more, '<=', $proxy->connections - $tries + 1, 'one write a connection';

$proxy->lead_to($new->port);
wait_until { $new->used('k') == 13 } what => 'all that waited';
$nginx->wait_log(qr/takes charges again after/);
is ask('/x', 'k'), '200 PASSED', 'after';
is ask('/reserve', 'k'), '200 PASSED', 'reservations too';
wait_until { $new->used('k') == 14 } what => 'the next charge';
$nginx->stop;
is $new->used('k'), 14, 'each once';
is $new->used('k', 'r/3600'), 2, 'of reservations too';
is $nginx->count_log(qr/is a replica now: unless the same address leads to the new primary/), 1,
    'the log says once what to do';
is $nginx->count_log(qr/refuses charges/), 1, 'and once that charges wait';
is $nginx->count_log(qr/doubt|dropped|lost|is down|does not serve/), 0, 'nothing is lost';

done;
