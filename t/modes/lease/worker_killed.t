# Workers killed under load, of a lease: never one over the limit, and all that passed is stored, as tokens outlive the worker that fetched them.

use RateLimit::Test;

use constant LIMIT => 12_000;

my $connections = 16;
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Traffic->nginx(
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis) . '
        rate_limit_mode lease; rate_limit_store main; rate_limit_log_level info;',
    server => 'location / { rate_limit ' . LIMIT . 'r/h name=auto; }',
);
my $traffic = RateLimit::Traffic->start($nginx, connections => $connections, requests => [(['/x', 'X-Key' => 'k']) x 100]);
my $kills = 5;
for (1 .. $kills) {
    $traffic->more(100);
    $nginx->kill_worker;
}
my $at_kills = $redis->used('k', 'auto/3600');
cmp_ok $at_kills, '<', LIMIT, 'the limit is not reached when workers are killed';
wait_until {
    my $mark = $traffic->mark;
    !grep { $_->{outcome} ne 'REJECTED' } @{$traffic->more(500)->since($mark)}
} timeout => 120, what => 'the limit';
$traffic->stop;
my @passed = grep { $_->{uri} eq '/x' && $_->{outcome} eq 'PASSED' } @{$traffic->since(0)};
diag sprintf '%d passed, %d stored when workers were killed, %d unanswered', scalar @passed, $at_kills, $traffic->unanswered;
cmp_ok scalar(@passed), '<=', LIMIT, 'no more pass than the limit says';
is $redis->used('k', 'auto/3600'), LIMIT, 'all that passed is stored';
# The tokens that a worker was fetching when it died, and those of its requests, are lost.
cmp_ok scalar(@passed), '>=', LIMIT - $kills * (LIMIT / 20 + $connections), 'and no more is lost than died with a worker';
is scalar(grep { $_->{outcome} =~ /ERROR/ } @{$traffic->since(0)}), 0, 'every request is checked';

done;
