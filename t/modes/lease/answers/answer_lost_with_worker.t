# What a worker was granted that is killed before the answer comes is lost until the window's end, and never taken for another's.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return is_batch($words) && $conn->state('slow') ? $conn->hold('gate', $answer) : $answer;
}));
my $nginx = RateLimit::Nginx->with_limit('1000r/h mode=lease', redis_block('main', $relay, timeouts('9s')),
    more => 'rate_limit_lease 10; rate_limit_on_error deny;');
my sub asks ($count) { return statuses(map { $nginx->get('/x', 'X-Key' => 'k') } 1 .. $count) }

$relay->set(slow => 1);
my $held = $nginx->begin('/x', 'X-Key' => 'k');
wait_until { $redis->used('k') == 10 } what => 'a batch to be granted';
$nginx->kill_worker;
$relay->set(slow => '')->release('gate');
wait_until { asks(1)->{200} } what => 'the next worker';
is_deeply asks(4), {200 => 4}, 'its successor serves';
is $redis->used('k'), 20, '... from a batch of its own';
my ($of_dead, $of_next) = grep { is_batch($_) } $relay->commands('evalsha');
isnt $of_dead->[13], $of_next->[13], '... and under a name of its own';
$nginx->stop;
is $redis->used('k'), 5 + 10, 'what passed is what is stored in the end, but for what died with a worker';
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;
