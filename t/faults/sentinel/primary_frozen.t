# Row 11 of the fault matrix: a primary that is frozen is replaced; when it goes on, it executes and answers what lies in its sockets, and
# does not know that it was replaced. Nothing of that is taken for stored: it is in doubt.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set, store => 'charge_timeout 20s;');
my $old   = $set->primary;
$old->freeze;
$set->wait_switched($old);
my $mark = $books->recovered;
$books->served('while it is frozen', since => 0);
$old->thaw;
$books->traffic->more(200);
wait_until { $old->role eq 'slave' } what => 'the old primary to follow';
$books->served('when it goes on', since => $mark, passes => 1);
$books->rest->balance(told => 1);
is $books->nginx->count_log(qr/before it was/), 1, 'the log names one other primary';

done;
