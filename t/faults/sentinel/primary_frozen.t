# Row 11 of the fault matrix: a primary that is frozen is replaced; when it goes on, it executes and answers what lies in its sockets, and
# does not know that it was replaced. Nothing of that is taken for stored: it is in doubt.

use RateLimit::Test;

# An nginx for each mode: so its log tells what is in doubt of that mode.
my $set   = RateLimit::Sentinels->start;
my @books = map { RateLimit::Books->open($set, store => 'charge_timeout 20s;', modes => [$_]) } qw(check_charge charge_refund lease);
my $old   = $set->primary;
$old->freeze;
$set->wait_switched($old);
# Requests that read replicas meet no error at any time: that says nothing of whether nginx has heard of the new primary.
$_->nginx->wait_log(qr/before it was/) for @books;
my @marks = map { $_->recovered } @books;
$_->served('while it is frozen', since => 0) for @books;
$old->thaw;
$_->traffic->more(100) for @books;
wait_until { $old->role eq 'slave' } what => 'the old primary to follow';
$books[$_]->served('when it goes on', since => $marks[$_], passes => 1) for 0 .. $#books;
$_->rest->balance(told => 1) for @books;
is $_->nginx->count_log(qr/before it was/), 1, 'the log names one other primary' for @books;

done;
