# A primary that is shut down pauses writes until its replicas have caught up, while another replica answers checks. Of all that is
# charged in that time one batch a worker is in doubt; the rest waits, and is stored once the primary is back.

use RateLimit::Test;

use constant {RATE => 10_000, CONNECTIONS => 16, KEYS => 500, SECONDS => 4};

my $primary = RateLimit::Redis->start(appendonly => 1, args => ['--shutdown-timeout', 2]);
my ($reader, $replica) = map { RateLimit::Redis->start(replica_of => $primary) } 1 .. 2;
my $nginx   = RateLimit::Nginx->start(
    workers => 2, log_level => 'error', http => redis_block('main', [$primary, $reader], 'check_timeout 1s;'),
    server => 'keepalive_requests 1000000000; location /x { rate_limit_key $arg_k; rate_limit 100000000r/d store=main; }
        location /limits/ { rate_limit_console view; }');
my $flood = RateLimit::Flood->start(
    port => $nginx->port, uris => [map { "/x?k=$_" } 1 .. KEYS], requests => RATE * SECONDS,
    connections => CONNECTIONS, rate => RATE / CONNECTIONS);
wait_until { $primary->used('1', 'default/86400') } what => 'charges';

$replica->freeze;    # so there is something to wait for
$primary->stop;
like $primary->log, qr/waiting for replicas before shutting down/i, 'the primary waited for its replica';
$primary->launch;
$primary->wait_ready;
$replica->thaw;
my $admitted = $flood->counts->{2};

# A worker that has not found the primary again has charges that wait. What is in doubt may be stored, too: the sum of both says nothing
# of them.
sub doubts () { return sum0 $nginx->error_log =~ /rate limit: (\d+) charges for \S+ \S+ of "main" were sent and not answered/g }
sub stored () { return sum0 map { $_ // 0 } $primary->used_of('default/86400', 1 .. KEYS) }
wait_until { $nginx->waiting == 0 && stored() + doubts() >= $admitted } what => 'what waits to be stored';
$nginx->stop;

my ($stored, $doubt) = (stored(), doubts());
cmp_ok $stored, '<=', $admitted, "of $admitted admitted $stored are stored";
cmp_ok $stored, '>=', $admitted - $doubt, "the others are in doubt: $doubt";
is $nginx->count_log(qr/were dropped|are lost/), 0, 'none is lost in another way';
# A worker's charges of 2 ms are ten; a busy machine gathers more. Without batches they were those of all of check_timeout.
# A batch has 2,000 commands at most, and a slow machine fills it.
cmp_ok $doubt, '<', 4000, 'a batch a worker';
diag "$admitted charges: $doubt in doubt, " . ($admitted - $stored) . ' missing';

done;
