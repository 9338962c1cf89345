# Row 10 of the fault matrix: FAILOVER, which pauses writes until a replica has all of them, and SENTINEL FAILOVER after it lose nothing, whatever
# min-replicas-to-write is. What is refused meanwhile waits.
# nightly

use RateLimit::ReplicaTable;
use RateLimit::Test;

for my $row (RateLimit::ReplicaTable->rows) {
    my ($set, $books) = $row->open;
    my $old = $set->primary;
    wait_until { $old->ask('FAILOVER') eq 'OK' } what => 'a failover to begin';
    wait_until { $old->role eq 'slave' } what => 'the old primary to be a replica';
    $set->failover;
    $books->recovered;
    $books->served($row->name, since => 0);
    $books->rest->balance(told => 1);
}

done;
