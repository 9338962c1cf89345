# Row 10 of the fault matrix: after a failover by hand the old primary goes on taking writes for ten seconds, and says that it is the
# primary; only the sentinels know better. Within a second of their word no worker writes there.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start(slow => 1);
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
$set->failover;
let_pass(patience(1));
my %before = %{$old->used_by_key};
my $mark = $books->traffic->mark;
$books->traffic->more(300);
is_deeply $old->used_by_key, \%before, 'a second after the sentinels agree nothing is written to the old primary';
is $old->role, 'master', 'which thinks that it is the primary still';
$books->served('by the new primary', since => $mark, passes => 1);
$books->served('all the time', since => 0);
$books->rest->balance;

done;
