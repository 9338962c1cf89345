# While a twentieth of the limit is left, a charge that the primary has just answered stands for a check. Below that each request
# checks.

use RateLimit::Test;

my $shards  = RateLimit::Shards->start(1, replicas => 1);
my $replica = $shards->replica;
my $nginx   = RateLimit::Nginx->with_limit('100r/h', $shards->block('main'));

$replica->wait_connected;
my $checks = 0;
sub request ($nth, $outcome = 200) {
    my $before = $replica->calls('hmget');
    is $nginx->get('/x', 'X-Key' => 'k')->status, $outcome, "request $nth" if $nth > 95;
    $nginx->get('/x', 'X-Key' => 'k') if $nth <= 95;
    wait_until { $shards->primary->used('k') == $nth } what => "the charge of $nth" if $outcome == 200;
    $shards->wait_synced;
    return $replica->calls('hmget') - $before;
}

is request(1), 1, 'nothing is known: the first checks';
my $early = sum0(map { request($_) } 2 .. 96);
cmp_ok $early, '<=', 10, "of the next 95 only $early";
is_deeply [map { request($_) } 97 .. 100], [1, 1, 1, 1], 'with less than a twentieth left all check';
is $nginx->get('/x', 'X-Key' => 'k')->status, 429, 'the limit is what it is';

done;
