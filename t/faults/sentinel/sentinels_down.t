# Row 14 of the fault matrix: while no sentinel can be asked, their last word holds, which is logged once. A failover that they do not tell
# of costs no request an answer for longer than check_timeout. When they are back, the new primary gets what waits.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
my @known = $set->sentinels;
$_->kill for @known;
$books->nginx->wait_log(qr/the sentinels of "main" do not answer: their last word holds/);
my $mark = $books->traffic->mark;
$books->traffic->more(300);
$books->served('without sentinels', since => $mark, passes => 1);

# Others of which nginx knows nothing.
$set->start_sentinel for 1 .. 3;
$_->wait_ready for $set->up;
$set->wait_known;
$old->kill_in_turn;
my $new = $set->wait_switched($old);
$mark = $books->traffic->mark;
$books->traffic->more(300);
is $books->nginx->count_log(qr/before it was/), 0, 'nginx does not know of the new primary';
$books->served('without a primary', since => $mark);
is $books->errors($mark, 'check_charge'), 0, 'replicas answer checks';

$_->restart for @known;
my $back = monotonic();
$books->nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
$books->recovered;
$books->rest->balance;
is $books->nginx->count_log(qr/the sentinels of "main" do not answer: /), 1, 'their silence is logged once';
is $books->nginx->count_log(qr/the sentinels of "main" answer again/), 1, 'and its end';

done;
