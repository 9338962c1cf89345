# A worker that is told to leave while its primary is away stays a while for another one: what it owes, and tokens that are left, reach
# that.

use RateLimit::Test;

my $set     = RateLimit::Sentinels->start(sentinels => 1);
my $proxy   = RateLimit::Proxy->start(to => ($set->sentinels)[0]->port);
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    workers => 1, up => $backend,
    http   => 'rate_limit_redis main { sentinel ' . $proxy->address . '; shard mymaster master=mymaster; check_timeout 1s; charge_timeout 500ms; }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always;
        location /c { rate_limit 1000r/d name=c; }
        location /l { rate_limit 1000r/d name=l mode=lease; rate_limit_lease 10; }',
);
wait_until { outcome($nginx->get('/l?k=first')) eq '200 PASSED' } what => 'the word of the sentinel';
$nginx->get('/l?k=k');
my $old = $set->primary;
wait_until { 3 == grep { ($_->used('k', 'l/86400') // 0) == 10 } $set->servers } what => 'all servers to have the batch';
$proxy->stall('answers');
$old->kill;
my $new = $set->wait_switched($old);
is $nginx->get('/c?k=k')->status, 200, 'a request to a worker that knows of no other primary';
kill QUIT => $nginx->pid;
$nginx->wait_log(qr/gracefully shutting down/);
$proxy->flow;
wait_until { !$nginx->alive } what => 'nginx to leave';
is $new->used('k', 'c/86400'), 1, 'the charge is with the new primary';
is $new->used('k', 'l/86400'), 1, 'tokens that were not spent, too';
is $nginx->count_log(qr/in doubt|were dropped|nginx ends/), 0, 'nothing is lost';

done;
