# Row 34 of the fault matrix: a new nginx program takes over, and meanwhile the sentinels name another primary. What the workers of both
# programs owe reaches the new primary, once, and so do the tokens that they have left.

use RateLimit::Test;

my $set     = RateLimit::Sentinels->start;
my $backend = RateLimit::Backend->start;
my $upgrade = RateLimit::Upgrade->start(
    workers => 2, http => $set->block('main', 'check_timeout 1s;'), up => $backend,
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Outcome $rate_limit_status always; location /c { rate_limit 1000r/d name=c; } location /l { rate_limit 1000r/d name=l mode=lease; rate_limit_lease 10; }
        location /slow { rate_limit 1000r/d name=c; proxy_pass http://%%UP%%; }',
);
my $nginx = $upgrade->nginx;
wait_until { outcome($nginx->get('/c?k=first')) eq '200 PASSED' } what => 'the word of the sentinels';
$nginx->get("/$_?k=k") for qw(c l);
my $old = $set->primary;
wait_until { 3 == grep { ($_->used('k', 'c/86400') // 0) == 1 && ($_->used('k', 'l/86400') // 0) } $set->servers } what => 'all servers to have what was charged';
my $slow = $nginx->reach($backend, '/slow?k=k');
$upgrade->begin;
$old->kill;
$nginx->get('/c?k=k') for 1 .. 10;
my $new = $set->wait_switched($old);
wait_until { $new->used('k', 'c/86400') == 11 } what => 'what waited in both programs';
kill QUIT => $upgrade->{old};
is $nginx->get('/c?k=k')->status, 200, 'a request to the new program';
$backend->release('gate');
is $slow->response->status, 200, 'a request of the old one';
$upgrade->finish;
wait_until { $new->used('k', 'c/86400') == 13 } what => 'the charges of both';
$upgrade->stop;
is $new->used('k', 'l/86400'), 1, 'tokens that were not spent went back to the new primary';
is $new->used('k', 'c/86400'), 13, 'nothing is charged twice';
is $nginx->count_log(qr/in doubt|were dropped|nginx ends/), 0, 'nothing is lost';

done;
