# Row 17 of the fault matrix: two failovers in a row, the second back to the first primary or on to a third. Charges follow both times, and the
# tokens that nobody needs go back to the last one.
# nightly

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set);
my $first = $set->primary;
my $second = $set->failover;
my $third  = $set->failover;
isnt $third, $second, 'two failovers';
my $mark = $books->recovered;
$books->traffic->more(200);
$books->served('after both', since => $mark, passes => 1);
$books->served('all the time', since => 0);
$books->rest->balance;
is $books->nginx->count_log(qr/before it was/), 2, 'the log names both';

done;
