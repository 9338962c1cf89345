# Workers killed under load: only their own requests are lost, new ones work at once, and what is stored is what was
# admitted but for the charges that died with a worker.

use RateLimit::Test;

my $connections = 16;
my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $primary = $shards->primary;
my $nginx   = RateLimit::Traffic->nginx(workers => 2, http => $shards->block('main'));
my $traffic = RateLimit::Traffic->start($nginx, connections => $connections);
my $rounds = 5;
for (1 .. $rounds) {
    $traffic->more(100);
    $nginx->kill_worker;
}
my $mark = $traffic->mark;
$nginx->kill_worker($_) for $nginx->workers;
$traffic->more(200)->is_served('new workers', since => $mark, timeout => 5, passes => 1);
$traffic->stop->is_served('all the time', since => 0, timeout => 5, passes => 1);
my $killed = $rounds + 2;
cmp_ok $traffic->unanswered, '<=', $killed * $connections, 'only requests of killed workers got no response';

my $admitted = @{$traffic->since(0)};
sub stored () { return sum0($primary->used_of('default/3600', RateLimit::Traffic->keys)) }
my $last = -1;
wait_until { my $same = stored() == $last; $last = stored(); $same } what => 'charges under way';
$nginx->stop;
my $stored = stored();
diag "$admitted admitted, $stored stored, ", $traffic->unanswered, ' unanswered';
# A request whose response or log line died with its worker may have been charged, or not.
cmp_ok $stored, '<=', $admitted + $killed * $connections, 'nothing is charged twice';
# A worker has charges of more than one request of a connection on their way: a batch that is not answered, and the next one.
cmp_ok $stored, '>=', $admitted - 3 * $killed * $connections, 'charges on their way are all that is lost';
is $nginx->count_log(qr/could not be checked|does not serve|is down/), 0, 'no node was given up';

done;
