# Tokens outlive the worker that fetched them: the others spend them, or give them back. Workers killed under load: never
# one over the limit, and all that passed is stored.

use RateLimit::Test;

use constant LIMIT => 12_000;

my $connections = 16;
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Traffic->nginx(
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis) . '
        rate_limit_mode lease; rate_limit_store main; add_header X-Worker $pid always;
        rate_limit_log_level info;',
    server => 'location / { rate_limit ' . LIMIT . 'r/h name=auto; }
        location /fixed { rate_limit 1000r/60s name=fixed; rate_limit_lease 100; }',
);
sub used ($name, $key) { return $redis->used($key, $name) }

# Sends a request and kills the worker that has answered it; all workers that may have connected go with it.
sub fetch_and_die ($key) {
    my $response = $nginx->get('/fixed', 'X-Key' => $key);
    is $response->status, 200, "$key: a request passes";
    is used('fixed/60', $key), 100, 'with a batch';
    $nginx->kill_worker($response->header('X-Worker'));
    return $response->header('X-Worker');
}

my $dead  = fetch_and_die('spent');
my $calls = $redis->script_calls;
my @responses = map { $nginx->get('/fixed', 'X-Key' => 'spent') } 1 .. 99;
is_deeply statuses(@responses), {200 => 99}, 'other workers spend it';
is scalar(grep { $_->header('X-Worker') == $dead } @responses), 0, 'for the first is dead';
is $redis->script_calls, $calls, 'without a call';
is limits($responses[-1])->{used}, 100, 'all of it';

fetch_and_die('left');
wait_until { used('fixed/60', 'left') == 1 } what => 'what is left';
pass 'or they give it back';

my $traffic = RateLimit::Traffic->start($nginx, connections => $connections, requests => [(['/x', 'X-Key' => 'k']) x 100]);
my $kills = 5;
for (1 .. $kills) {
    $traffic->more(100);
    $nginx->kill_worker;
}
my $at_kills = used('auto/3600', 'k');
cmp_ok $at_kills, '<', LIMIT, 'the limit is not reached when workers are killed';
wait_until {
    my $mark = $traffic->mark;
    !grep { $_->{outcome} ne 'REJECTED' } @{$traffic->more(500)->since($mark)}
} timeout => 120, what => 'the limit';
$traffic->stop;
my @passed = grep { $_->{uri} eq '/x' && $_->{outcome} eq 'PASSED' } @{$traffic->since(0)};
diag sprintf '%d passed, %d stored when workers were killed, %d unanswered', scalar @passed, $at_kills, $traffic->unanswered;
cmp_ok scalar(@passed), '<=', LIMIT, 'no more pass than the limit says';
is used('auto/3600', 'k'), LIMIT, 'all that passed is stored';
# The tokens that a worker was fetching when it died, and those of its requests, are lost.
cmp_ok scalar(@passed), '>=', LIMIT - $kills * (LIMIT / 20 + $connections), 'and no more is lost than died with a worker';
is scalar(grep { $_->{outcome} =~ /ERROR/ } @{$traffic->since(0)}), 0, 'every request is checked';

done;
