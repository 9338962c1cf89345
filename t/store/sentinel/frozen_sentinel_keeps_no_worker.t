# A worker that is to leave does not wait for the answer of a sentinel.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start;
my $nginx = RateLimit::Nginx->with_limit('1000r/h', $set->block('main', timeouts('60s')), key => 'k', workers => 2);
wait_until { $nginx->get('/x'); $set->primary->used('k') } what => 'the primary to be found';
my ($frozen, $dead) = $set->sentinels;
$frozen->freeze;
my sub waiting () { return $nginx->count_log(qr/sentinel \S+ of "main" is down/) }
$dead->kill;
wait_until { waiting() } what => 'sentinels to be asked';
let_pass(1);
my $begun = monotonic();
$nginx->stop(timeout => 40);
cmp_ok monotonic() - $begun, '<', patience(5), 'nginx stops at once';

done;
