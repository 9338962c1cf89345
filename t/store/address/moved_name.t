# A name that leads to another server is followed without an outage: after the server has closed an idle connection, and
# after the primary behind it was demoted while its connection stayed.
# Row 8 of the fault matrix.

use RateLimit::Test;

# A name to nginx, which knows addresses of four numbers only, and an address to the system.
my $name  = '127.1';
my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my $first = RateLimit::Redis->start;
my @more  = map { RateLimit::Redis->start(host => $_, port => $first->port) } qw(127.0.0.2 127.0.0.3);
my $nginx = RateLimit::Nginx->with_limit('1000r/h',
    'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $first->port),
    more => 'rate_limit_on_error deny;');
my sub pass ($key) { return is $nginx->get('/x', 'X-Key' => $key)->status, 200, "$key passes" }

pass('before');
wait_until { $first->used('before') == 1 } what => 'its charge';
is scalar(() = $dns->records), 0, 'no question while all is well';

$dns->set($name => '127.0.0.2');
$first->drop_clients;
wait_until { () = $dns->records } what => 'a question';
my $n = 0;
wait_until { $n++; pass("idle$n"); $more[0]->used("idle$n") || $more[0]->used('idle' . ($n - 1)) }
    what => 'charges at the second server';
is $nginx->count_log(qr/is down|does not serve|could not be checked/), 0, 'without an outage';

$dns->forget;
$dns->set($name => '127.0.0.3');
$more[0]->cmd('REPLICAOF', '127.0.0.3', $first->port);
pass('demoted') for 1 .. 5;
wait_until { $more[1]->used('demoted') == 5 } what => 'charges at the third server';
is scalar(grep { $_->[0] eq $name } $dns->records) > 0, 1, 'by asking the resolver';
is $nginx->count_log(qr/unless the same address leads/), 0, 'there is nothing to tell to reload';
$nginx->stop;
is $nginx->count_log(qr/is down|does not serve|could not be checked|doubt|dropped/), 0, 'nothing is lost';

done;
