# Row 15 of the fault matrix: checks go to a replica that is added, and not to one that is gone, or has no link to its primary.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set, store => 'fresh off;');
my ($primary, $first, $second) = $set->servers;
my sub reads (@servers) {
    $_->forget_calls for @servers;
    $books->traffic->more(200);
    return map { $_->calls('hmget') > 0 ? 1 : 0 } @servers;
}
is_deeply [reads($first, $second)], [1, 1], 'both replicas are read';

my $third = $set->start_server('mymaster', $primary)->wait_ready;
wait_until { $third->calls('hmget') > 0 } what => 'the new replica to be read';

# One that cannot synchronize any more.
my ($link) = map { /^id=(\d+) .*:\d+ .*/ ? $1 : () } grep { / flags=S / } split /\n/, $primary->cmd('CLIENT', 'LIST');
$primary->cmd('ACL', 'SETUSER', 'default', '-psync', '-sync');
$primary->cmd('CLIENT', 'KILL', 'ID', $link);
my sub without_link () { return grep { ($_->info('replication')->{master_link_status} // '') ne 'up' } $first, $second, $third }
wait_until { without_link() == 1 } what => 'one link to be down';
my ($without) = without_link();
my @with = grep { $_ != $without } $first, $second, $third;
wait_until { (reads($without))[0] == 0 } what => 'the replica without a link to be left alone';
is_deeply [reads($without, @with)], [0, 1, 1], 'the others are read';
$primary->cmd('ACL', 'SETUSER', 'default', '+psync', '+sync');
wait_until { (reads($without))[0] } what => 'the replica to be read again';

$first->kill;
my $mark = $books->recovered;
is_deeply [reads($second, $third)], [1, 1], 'those that are left are read';
$books->served('all the time', since => 0, passes => 1);
$books->rest->balance(lost => 0, doubt => 0);

done;
