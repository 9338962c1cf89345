# What a worker knows of the clock of a server it forgets with the connection: at the same address there may be another one, whose clock is
# another. The first request after that asks the script.

use RateLimit::Test;
use Time::HiRes ();

my $token = 50_000_000;    # 20 a second: the bucket may be full at the next request
my $mark  = -9223372036854775807 - 1;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my $command = $words->[0];
    my $time    = int((Time::HiRes::time() + ($conn->state('ahead') // 0)) * 1e6);
    return array(map { integer($_) } 1, 99, $token, 0, $time, 0, 0) if $command =~ /^eval/;
    return fallback($words) if $command ne 'bitfield';
    return array(integer(0), integer($mark + $words->[10 + 1]));
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis),
    server => 'location / { rate_limit 20r/s burst=100 store=main key=k; }',
);
# The command of each request, and by how many seconds its instant is ahead.
sub asked ($times) {
    my $before = () = $redis->commands;
    my @passed = map { $nginx->get('/x')->status } 1 .. $times;
    my @sent   = ($redis->commands)[$before .. (() = $redis->commands) - 1];
    is_deeply \@passed, [(200) x $times], 'all pass';
    return grep { $_->[0] =~ /^(?:evalsha|bitfield)$/ } @sent;
}
sub ahead ($command) { return -$command->[7] / 1e9 - Time::HiRes::time() }

for my $clock (0, 10, -10) {
    $redis->set(ahead => $clock);
    $redis->drop;
    my @commands = asked(30);
    is $commands[0][0], 'evalsha', "clock $clock: a script after a new connection";
    my @plain = grep { $_->[0] eq 'bitfield' } @commands;
    cmp_ok scalar @plain, '>=', 10, '... then plain commands';
    is_deeply [grep { abs(ahead($_) - $clock) > 5 } @plain], [], '... of that clock';
}

done;
