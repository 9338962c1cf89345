# The late answer to a charge does not take used back behind what a replica has said since: a window that was used up
# stays used up, though another replica be behind.

use RateLimit::Test;

my $reset   = (time + 3000) . '000';
my $primary = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $conn->hold('charge', array(integer(5), integer($reset))) if $words->[0] =~ /^eval/;
    return $conn->hold('charge', integer(5)) if $words->[0] eq 'hincrby';
    return fallback($words);
});
my $replica = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $words->[0] eq 'hmget' ? hmget($conn->state('used'), $reset) : fallback($words);
});
$replica->set(used => 4);
my $nginx = RateLimit::Nginx->with_limit('10r/h', redis_block('main', [$primary, $replica], timeouts('20s')));
my $http = $nginx->http;
sub get () { return $http->get('/x', 'X-Key' => 'a') }

is limits(get())->{used}, 5, 'one more than is stored';
wait_until { $primary->writes == 1 } what => 'its charge, which is not answered yet';
$replica->set(used => 10);
shows get(), 429, {used => 10}, 'others have used the rest, says a replica';
$primary->release('charge');
$replica->set(used => 6);
is_deeply [map { ($_->status, limits($_)->{used}) } map { get() } 1 .. 3], [(429, 10) x 3],
    'an answer and a replica from before that change nothing';
$nginx->stop;
is scalar $primary->writes, 1, 'nothing more was charged';

done;
