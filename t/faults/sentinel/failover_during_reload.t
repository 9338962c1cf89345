# Row 17 of the fault matrix: a failover while nginx reloads again and again. Old and new workers follow it.
# nightly

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set);
my $nginx = $books->nginx;
# Keeps an old worker for as long as the test wants.
my $idle = $nginx->http;
$idle->send("GET /check_charge?k=1 HTTP/1.1\r\nHost: x\r\n");
$nginx->reload;
$set->primary->kill_in_turn;
$nginx->reload for 1 .. 2;
my $old = $set->{members}[0];
my $new = $set->wait_switched($old);
$nginx->reload;
my $mark = $books->recovered;
cmp_ok scalar($nginx->old_workers), '>', 0, 'an old worker is still there';
$idle->send("\r\n");
is $idle->response->status, 200, 'and answers';
$books->traffic->more(200);
$books->served('after the switch', since => $mark, passes => 1);
$books->served('all the time', since => 0);
wait_until { !$nginx->old_workers } what => 'old workers to leave';
$books->rest->balance;

done;
