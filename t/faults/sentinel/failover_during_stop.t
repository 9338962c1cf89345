# Row 17 of the fault matrix: nginx stops just when the sentinels have named another primary. Tokens go back to that one, and
# charges that are queued reach it.
# nightly

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
# A replica gets nothing in the first second after its sync, and what it lacks nobody can give back to it.
for my $replica ($set->replicas) {
    wait_until { 20 == grep { defined } $replica->used_of('lease/86400', 1 .. 20) } what => 'the replicas to follow';
}
my $new   = $set->failover;
$books->nginx->wait_log(qr/before it was/);
$books->nginx->stop;
my @not_whole = grep { $_ % RateLimit::Books::LEASE } $new->used_of('lease/86400', 1 .. 20);
cmp_ok scalar(@not_whole), '>', 0, 'tokens went back to the new primary';
$books->balance;
is $books->nginx->count_log(qr/it could not give back/), 0, 'all of them';

done;
