# The sentinels say which servers a shard has: charges go to its primary, reads to its replicas, and after a failover to those
# that have taken their places. One worker of a machine asks for all.

use RateLimit::Test;
use RateLimit::Sentinels;

my $set   = RateLimit::Sentinels->start;
my $nginx = RateLimit::Nginx->start(
    workers => 4,
    http    => $set->block('main', timeouts('9s') . ' read_from spread;'),
    server  => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /lease { rate_limit 1000r/h name=l mode=lease; }',
);
my $client = $nginx->http;
my sub ask ($uri, $key) { return outcome($client->get($uri, 'X-Key' => $key)) }

my ($old, @replicas) = ($set->primary, $set->replicas);
wait_until { ask('/reserve', 'first') eq '200 PASSED' } what => 'the primary to be found';
is ask($_, 'alice'), '200 PASSED', "$_ passes" for ('/', '/reserve', '/lease') x 5;
wait_until { $old->used('alice') == 5 } what => 'charges on the primary';
is $old->used('alice', 'r/3600'), 5, 'reservations too';
is $client->get('/', 'X-Key' => 'alice')->header('X-Shard'), 'mymaster', 'the shard has the name of the configuration';
wait_until { ask('/', "k$_") for 1 .. 20; 2 == grep { $_->calls("hmget") > 0 } @replicas } what => 'both replicas to be read';

wait_until { 2 == grep { $_->used('alice') == 6 } @replicas } what => 'the replicas to follow';
my $new = $set->failover;
$nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
is ask($_, 'alice'), '200 PASSED', "$_ after the failover" for ('/', '/reserve', '/lease') x 5;
wait_until { $new->used('alice') == 11 } what => 'the new primary to have all charges';
is $new->used('alice', 'r/3600'), 10, 'and reservations';
$nginx->stop;
is $nginx->count_log(qr/sentinels name .* as the primary of shard "mymaster" of "main"/), 2, 'the log names each primary once';
is $nginx->count_log(qr/in doubt|were dropped/), 0, 'nothing is lost';

done;
