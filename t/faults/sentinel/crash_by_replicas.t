# Row 9 of the fault matrix: what a crash of the primary loses and refuses, by replicas and min-replicas-to-write, is what the table of docs/redis.md
# says: next to nothing is lost; charges are refused until the sentinels have switched, or, with too few replicas left, until one is started.
# nightly

use RateLimit::ReplicaTable;
use RateLimit::Test;

for my $row (RateLimit::ReplicaTable->rows) {
    my ($set, $books) = $row->open;
    my ($old, $name) = ($set->primary, $row->name);
    $old->kill;
    my $new = $set->wait_switched($old);
    ok $row->says('crash lost', qr/^next to nothing\b/), "$name: next to nothing is lost";
    if ($row->says('crash refused', qr/^until a replica is started\b/)) {
        my $mark = $books->traffic->mark;
        wait_until { $set->replicas == 1 || grep { $_->up && $_->info('replication')->{master_port} == $new->port } $set->replicas }
            what => 'the other replica to follow' if $row->{replicas} > 1;
        $books->traffic->more(200);
        ok $row->refuses($new), 'the new primary refuses writes';
        cmp_ok $books->errors($mark, 'charge_refund'), '>', 20, 'and reservations';
        is $books->errors($mark, 'check_charge'), 0, 'checks are answered' if $row->{replicas} > 1;
        $old->restart;
    }
    $books->recovered;
    $books->served($name, since => 0);
    $books->rest->balance(lost => RateLimit::ReplicaTable::ALMOST);
}

done;
