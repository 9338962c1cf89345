# Row 12 of the fault matrix: a primary that was killed and replaced starts again as a primary, without what it had. It gets no charge, and no
# check before it is a replica with all that its new primary has.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set, store => 'read_from spread;');
my $old   = $set->primary;
$old->kill_in_turn;
$set->wait_switched($old);
$books->recovered;
is $old->restart->role, 'master', 'it starts as what it was';
my $seen = {};
wait_until {
    # A server that becomes a replica closes its connections, perhaps between two questions.
    my ($read, $keys, $role) = eval { ($old->calls('hmget'), $old->cmd('DBSIZE'), $old->role) } or return 0;
    $seen = {read => $read, keys => $keys} if $role eq 'master';
    $role eq 'slave'
} what => 'the old primary to follow';
is_deeply $seen, {read => 0, keys => 0}, 'as long as it thinks that it is a primary it gets nothing';
wait_until { $old->calls('hmget') > 0 } what => 'checks as a replica';
is $old->info('replication')->{master_link_status}, 'up', 'which it is by then';
$books->served('all the time', since => 0);
$books->rest->balance;

done;
