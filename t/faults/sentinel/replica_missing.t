# Row 15 of the fault matrix: while a replica is missing, charges are taken or refused as the table of docs/redis.md says, by how many replicas there are
# and min-replicas-to-write. What is refused waits until the replica is back; checks are answered all the while.
# nightly

use RateLimit::ReplicaTable;
use RateLimit::Test;

for my $row (RateLimit::ReplicaTable->rows) {
    my ($set, $books) = $row->open;
    my ($primary, $name) = ($set->primary, $row->name);
    my ($replica) = $set->replicas;
    $replica->kill;
    if ($row->says('replica missing', qr/^all are refused\b/)) {
        wait_until { $row->refuses($primary) } what => 'the primary to take no writes';
        my ($mark, @reservations);
        wait_until {
            $mark         = $books->traffic->mark;
            @reservations = grep { $_->{uri} eq '/charge_refund' } @{$books->traffic->more(200)->since($mark)};
            @reservations && $books->errors($mark, 'charge_refund') == @reservations
        } what => "$name: all reservations to be refused";
        is $books->errors($mark, 'check_charge'), 0, "$name: checks are answered, by those that are up";
        $replica->restart;
    } else {
        my $mark = $books->traffic->mark;
        $books->traffic->more(300);
        ok !$row->refuses($primary), "$name: the primary takes writes";
        is $books->errors($mark), 0, 'and nothing is refused';
    }
    $books->recovered;
    $books->served($name, since => 0);
    $books->rest->balance(lost => 0);
}

done;
