# Row 10 of the fault matrix: with min-replicas-to-write a failover by hand loses next to nothing, for the old primary, left by its
# replica, refuses charges before the sentinels tell of the new one. What was refused is no failure of the request, and waits.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(
    slow => 1, masters => {mymaster => {replicas => 1}}, redis => {args => ['--min-replicas-to-write', 1, '--min-replicas-max-lag', 10]});
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
my $new   = $set->failover;
wait_until { $old->ask('SET', 'x', 1) =~ /^NOREPLICAS/ } what => 'the old primary to take no writes';
# The new one takes none either while it has no replica.
$_->cmd('CONFIG', 'SET', 'min-replicas-to-write', 0) for $new;
$books->recovered;
$books->served('all the time', since => 0);
# Charges of 50 ms, what a replica has not read yet when it is promoted, and a batch of each lease.
$books->rest->balance(lost => 16 + 20 * RateLimit::Books::LEASE, doubt => 0);

done;
