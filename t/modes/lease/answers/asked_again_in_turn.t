# Batches of a shard whose primary is away do not keep those of another shard from being asked for again, however many they are.

use RateLimit::Test;
use List::Util qw(all);

my @redis = map { RateLimit::Redis->start } 1, 2;
my ($away, $stays) = map {
    RateLimit::FakeRedis->start(handler => relaying($_, sub ($words, $conn, $answer) {
        return is_batch($words) && !$conn->state('back') ? $conn->hold('gate', $answer) : $answer;
    }))
} @redis;
my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_redis main { shard a primary=' . $away->address . '; shard b primary=' . $stays->address . '; ' . timeouts('9s') . ' }',
    server => 'location / { rate_limit_key $arg_k; rate_limit 1000r/h store=main mode=lease; rate_limit_lease 10; rate_limit_on_error deny; }',
);
my sub asked ($of) { my %times; $times{$_->[3]}++ for grep { is_batch($_) } $of->commands('evalsha'); return \%times }

my @waiting = map { $nginx->begin("/x?k=$_") } 1 .. 300;
wait_until { keys(%{asked($away)}) + keys(%{asked($stays)}) == @waiting } what => 'all batches to be asked for';
cmp_ok scalar(keys %{asked($away)}), '>', 2 * 64, 'so many are at the shard that is lost';
$away->stop;
$stays->set(back => 1);
$stays->drop(1);
is_deeply statuses(map { $_->response } @waiting), {503 => 300}, 'all answers are lost';
wait_until { all { $_ > 1 } values %{asked($stays)} } what => 'all batches of the other shard to be asked for again';
pass 'those of the other one come, in turn';
$away->restart->set(back => 1);
$nginx->stop;

done;
