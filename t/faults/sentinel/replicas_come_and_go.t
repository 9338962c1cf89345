# Row 15 of the fault matrix: checks go to a replica that is added, and not to one that is gone, or has no link to its primary.

use RateLimit::Test;

# Nothing is asked for here that a stalled machine would be in the way of: no primary is replaced, and a check may take its time.
my $set   = RateLimit::Sentinels->start(down_after => 60_000);
my $books = RateLimit::Books->open($set, check_timeout => 9, store => 'fresh off; read_from spread;');
my ($primary, $first, $second) = $set->servers;

# Which of these were read by so many requests.
my sub reads (@servers) {
    $_->forget_calls for @servers;
    $books->traffic->more(200);
    return join ' ', map { $_->calls('hmget') > 0 ? 1 : 0 } @servers;
}
# Requests choose the replica that has least to do, which may be one and the same for a while.
my sub become_read ($what, @servers) {
    $_->forget_calls for @servers;
    wait_until { !grep { $_->calls('hmget') == 0 } @servers } what => $what;
    pass $what;
}
become_read('both replicas are read', $first, $second);

my $third = $set->start_server('mymaster', $primary)->wait_ready;
become_read('the new replica is read', $third);

# One that cannot synchronize any more.
my ($link) = map { /^id=(\d+) .*:\d+ .*/ ? $1 : () } grep { / flags=S / } split /\n/, $primary->cmd('CLIENT', 'LIST');
$primary->cmd('ACL', 'SETUSER', 'default', '-psync', '-sync');
$primary->cmd('CLIENT', 'KILL', 'ID', $link);
my sub without_link () { return grep { ($_->info('replication')->{master_link_status} // '') ne 'up' } $first, $second, $third }
wait_until { without_link() == 1 } what => 'one link to be down';
my ($without) = without_link();
my @with = grep { $_ != $without } $first, $second, $third;
wait_until { reads($without, @with) eq '0 1 1' } what => 'the replica without a link to be left alone, and the others to be read';
pass 'the replica without a link is left alone, and the others are read';
$primary->cmd('ACL', 'SETUSER', 'default', '+psync', '+sync');
become_read('it is read again', $without);

$first->kill;
$books->recovered;
become_read('those that are left are read', $second, $third);
$books->served('all the time', since => 0, passes => 1);
$books->rest->balance(lost => 0, doubt => 0);

done;
