# Row 10 of the fault matrix: what SENTINEL FAILOVER loses, by replicas and min-replicas-to-write, is what the table of docs/redis.md says: some, where the
# old primary goes on taking charges; next to nothing where it refuses them, and then the new one refuses them, too, for a while.
# nightly

use RateLimit::ReplicaTable;
use RateLimit::Test;

for my $row (RateLimit::ReplicaTable->rows) {
    my ($set, $books) = $row->open(slow => 1);
    my ($old, $name) = ($set->primary, $row->name);
    my ($sentinel) = $set->up;
    wait_until {
        $sentinel->ask('SENTINEL', 'FAILOVER', 'mymaster') if $sentinel->about('mymaster')->{flags} !~ /failover_in_progress/;
        grep { $_ != $old && $_->role eq 'master' } $set->servers
    } what => 'a replica to be promoted';
    my $late = $old->ask('SET', 'late', 1);
    my $some = $row->says('failover lost', qr/^some\b/);
    wait_until { $row->refuses($old) } what => 'the old primary to take no writes' if !$some;
    my $new  = $set->wait_switched($old);
    my $mark = $books->traffic->mark;
    wait_until { $new->ask('SET', 'x', 1) eq 'OK' } timeout => 40, what => 'the new primary to take writes';
    my $wanted = $row->says('failover refused', qr/^until the old primary is a replica\b/) ? 'slave' : 'master';
    is $old->role, $wanted, "$name: the new primary takes writes when the old one is a $wanted";
    cmp_ok $books->errors($mark, 'charge_refund'), '>', 0, 'until then reservations are refused' if $wanted eq 'slave';
    $books->recovered;
    $books->served($name, since => 0);
    $books->rest->balance($some ? () : (lost => RateLimit::ReplicaTable::ALMOST, doubt => 0));
    my $lost = sum0(values %{$books->lost});
    diag "$name: $lost lost";
    ok $late eq 'OK' || $lost > RateLimit::ReplicaTable::ALMOST, 'what the old primary takes meanwhile is lost' if $some;
}

done;
