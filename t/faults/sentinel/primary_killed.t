# Row 9 of the fault matrix: a primary that is killed is replaced. Charges wait for the new one and reach it once. Until then checks read
# the replicas, though these have lost their primary; only reservations and fetches meet errors.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
my $begun = $books->traffic->mark;
$books->served('before', passes => 1);
$old->kill_in_turn;
my $new = $set->wait_switched($old);
my $switched = monotonic();
my $mark = $books->recovered;
cmp_ok monotonic() - $switched, '<', patience(3), 'soon after the sentinels have agreed all is well again';
$books->served('the switch', since => $begun);
is $books->errors($begun, 'check_charge'), 0, 'replicas answer all checks';
cmp_ok $books->errors($begun), '>', 0, 'reservations and fetches cannot be answered';
$books->traffic->more(200);
$books->served('after the switch', since => $mark, passes => 1);
$books->rest->balance;
is $books->nginx->count_log(qr/sentinels name .* as the primary/), 2, 'the log names each primary once';

done;
