# Row 10 of the fault matrix: limits hold over a failover. No more is admitted than the limits and what was lost with the old primary, which
# takes charges until the sentinels agree.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start(slow => 1);
my $books = RateLimit::Books->open($set, limit => 12);
$set->failover;
wait_until {
    my $mark = $books->traffic->mark;
    !grep { $_->{outcome} ne 'REJECTED' } @{$books->traffic->more(120)->since($mark)}
} what => 'all limits to be reached';
$books->served('all the time');
$books->rest->balance;

done;
