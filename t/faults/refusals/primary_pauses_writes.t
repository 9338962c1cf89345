# A primary that answers PING and reads but no writes, as Redis does while it fails over or shuts down: what was sent
# before it was known to be silent is in doubt, then one charge a connection. All others wait, and arrive in the end.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $redis  = $shards->primary;
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main', 'check_timeout 100ms; charge_timeout 400ms; connect_timeout 2s;'),
    server => 'keepalive_requests 1000000; location / { rate_limit_key $http_x_key; rate_limit 100000r/h store=main; }
        location /limits/ { rate_limit_console view; }');
my ($admitted, $n) = (0, 0);
my sub traffic ($requests) {
    my @requests = map { ['/x', 'X-Key' => 'k' . $n++ % 50] } 1 .. $requests;
    my $statuses = statuses($nginx->parallel(connections => 4, requests => \@requests));
    $admitted += $statuses->{200} // 0;
    return $statuses;
}
my sub stored () { return sum0($redis->used_of('default/3600', map { "k$_" } 0 .. 49)) }
my sub in_doubt () {
    return sum0($nginx->error_log =~ /rate limit: (\d+) charges for .* they are in doubt/g);
}
my sub connections () { return $redis->info('stats')->{total_connections_received} }

is_deeply traffic(200), {200 => 200}, 'before';
wait_until { stored() == $admitted } what => 'the charges';
$redis->cmd(qw(CLIENT PAUSE 100000 WRITE));
my $before = connections();
my $silent = qr/primary .* does not serve: no answer in check_timeout/;
wait_until { traffic(20); $nginx->count_log($silent) } what => 'the primary to be known as silent';
my $sent = $admitted;
wait_until { traffic(20); connections() >= $before + 4 } timeout => 20, what => 'some tries';
my $tries = connections() - $before;
my $while = $admitted - $sent;
cmp_ok $while, '>', 3 * $tries, "$while requests passed meanwhile";
$redis->cmd(qw(CLIENT UNPAUSE));
# Charges in doubt may be stored, too, so the sum of both tells nothing of the charges that wait.
wait_until { traffic(1); $nginx->waiting == 0 && stored() + in_doubt() >= $admitted } timeout => 20, what => 'what waited';
$nginx->stop;
my $lost = in_doubt();
# The answers of these never came, but the ones that the pause held back may have been executed at its end.
cmp_ok stored(), '>=', $admitted - $lost, 'what is not in doubt is stored';
cmp_ok stored(), '<=', $admitted, 'nothing twice';
my $least = $sent - 200;
cmp_ok $lost, '<=', $least + 50 * ($tries + 1), "$lost in doubt: what was sent before, and a window at a try";
cmp_ok $lost, '<', $least + $while, 'and no batch of others';
is $nginx->count_log(qr/dropped|lost/), 0, 'nothing is dropped';

done;
