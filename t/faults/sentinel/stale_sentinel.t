# Row 13 of the fault matrix: a sentinel that was away during a failover, and has not been told of it, names the old primary with the older
# epoch. Nobody goes back to that, and an nginx that starts then does not stay with it.
# nightly

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start(slow => 1);
my $books = RateLimit::Books->open($set);
my $old   = $set->primary;
my ($stale, @others) = $set->sentinels;
$stale->kill;
my $new = $set->failover;
$books->recovered;
# It would learn of the failover from what the others publish.
$_->keep_pace('publish-period' => 60_000) for @others;
$stale->restart;
my $mark = $books->traffic->mark;
wait_until { grep { ($_->{cmd} // '') =~ /^sentinel\|/ } $stale->clients } what => 'the sentinel to be asked again';
$books->traffic->more(300);
is $stale->word('mymaster'), $old->address, 'the sentinel names the old primary';
$books->served('by the new primary', since => $mark, passes => 1);
is $books->nginx->count_log(qr/before it was/), 1, 'nobody goes back';

my $late = RateLimit::Nginx->with_limit('1000r/h', $set->block('main'), key => 'late');
$late->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
let_pass(1);
is $late->count_log(qr/before it was \Q${\ $new->address}\E/), 0, 'nor does an nginx that has started since';
$late->get('/x');
wait_until { $new->used('late') == 1 } what => 'its charge on the new primary';
is $stale->word('mymaster'), $old->address, 'though the sentinel has not changed its mind';
$books->rest->balance;

done;
