# Row 19 of the fault matrix: one worker asks the sentinels for all, with one connection to each. When it is killed, at the moment of a
# failover, another one goes on within two seconds.
# nightly

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $books = RateLimit::Books->open($set, nginx => {workers => 16}, modes => ['check_charge']);
my $nginx = $books->nginx;
my sub asked () { return map { scalar(grep { ($_->{cmd} // '') =~ /^sentinel\|/ } $_->clients) } $set->sentinels }
wait_until { "@{[asked()]}" eq '1 1 1' } what => 'one connection to each sentinel';
$books->traffic->more(200);
is_deeply [asked()], [1, 1, 1], '16 workers have one connection to each sentinel';

my ($asker) = $nginx->error_log =~ /#(\d+): rate limit: sentinels name/;
my $new  = $set->failover;
$nginx->expect_log(qr/worker process $asker exited on signal 9/);
kill KILL => $asker;
my $killed = monotonic();
wait_until { 3 == grep { $_ > 0 } asked() } what => 'another worker to ask';
cmp_ok monotonic() - $killed, '<', patience(2), 'another worker asks soon';
$nginx->wait_log(qr/#(?!$asker\b)\d+: rate limit: sentinels name|#$asker: rate limit: sentinels name .* before it was/);
$books->recovered;
is_deeply [asked()], [1, 1, 1], 'there is still one connection to each sentinel';
$books->rest->balance(unlogged => 16);

done;
