# A batch whose answer is lost just before a reload: the leaving worker learns of it, and gives it back. What a worker was granted that is
# killed before the answer is lost until the window's end, and never taken for another's.

use RateLimit::Test;

my $away  = 0;
my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => do {
    my $relaying = relaying($redis, sub ($words, $conn, $answer) {
        return $answer if $words->[0] ne 'evalsha' || @$words != 15;
        return $conn->hold('gate', $answer) if $words->[3] =~ /held/ && $conn->state('slow');
        return $answer if $words->[3] !~ /lost/ || $away++;
        return $conn->cut(1);
    });
    sub ($words, $conn) { return $away && !$conn->state('back') ? $conn->cut(1) : $relaying->($words, $conn) }
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $relay, timeouts('9s')) . 'rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key;
        rate_limit_lease 10; rate_limit_on_error deny;',
    server => 'location / { rate_limit 1000r/h; }',
);
my sub asks ($key, $count) { return statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. $count) }
my sub batches ($key) { return grep { is_batch($_) && $_->[3] =~ /:$key$/ } $relay->commands('evalsha') }

$relay->set(slow => 1);
my $held = $nginx->begin('/x', 'X-Key' => 'held');
wait_until { $redis->used('held') == 10 } what => 'a batch to be granted';
$nginx->kill_worker;
$relay->set(slow => '')->release('gate');
wait_until { asks('held', 1)->{200} } what => 'the next worker';
is_deeply asks('held', 4), {200 => 4}, 'its successor serves';
is $redis->used('held'), 20, '... from a batch of its own';
my ($of_dead, $of_next) = batches('held');
isnt $of_dead->[13], $of_next->[13], '... and under a name of its own';

is_deeply asks('lost', 1), {503 => 1}, 'the answer is lost';
is $redis->used('lost'), 10, '... of a batch that Redis counts';
$nginx->reload;
$relay->set(back => 1);
wait_until { $redis->used('lost') == 0 } what => 'the leaving worker to give it back';
wait_until { asks('lost', 1)->{200} } what => 'the new worker';
$nginx->stop;
is $redis->used('lost'), 1, 'what passed is what is stored in the end';
is $redis->used('held'), 5 + 10, '... but for what died with a worker';
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;
