# Charges that wait because one worker has found the primary silent are not all sent to it by a worker that has not noticed yet: that one
# sends a single charge, and the rest when this is answered. So the fault puts no more in doubt than a batch and a charge.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', [$proxy, $redis], 'check_timeout 300ms; connect_timeout 9s; charge_timeout 60s;'),
    workers => 2, reuseport => 1, more => 'add_header X-Pid $pid;');
my %client;
wait_until {
    my $client = $nginx->http;
    $client{$client->get('/x', 'X-Key' => 'first')->header('X-Pid')} //= $client;
    keys %client == 2
} what => 'a connection to each worker';
my ($busy, $idle) = keys %client;
$client{$_}->get('/x', 'X-Key' => $_) for $busy, $idle;
wait_until { 2 == grep { $redis->used($_) == 1 } $busy, $idle } what => 'charges of both workers';

$proxy->stall('questions');
$client{$busy}->get('/x', 'X-Key' => $busy);
$nginx->wait_log(qr/ $busy#.*primary .* does not serve/);
$client{$busy}->get('/x', 'X-Key' => "waits$_") for 1 .. 50;
$nginx->wait_log(qr/ $idle#.*primary .* does not serve/);
$proxy->drop(1);
$proxy->flow;
my sub waited () { return scalar grep { $_ } $redis->used_of('default/3600', map { "waits$_" } 1 .. 50) }
wait_until { waited() >= 49 } what => 'those that waited';
$nginx->stop;
my $doubt = sum0($nginx->error_log =~ /rate limit: (\d+) charges for .* are in doubt/g);
cmp_ok $doubt, '<=', 2, 'one charge of each worker is in doubt';
cmp_ok waited(), '>=', 49, 'all others arrive';

done;
