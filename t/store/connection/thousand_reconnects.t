# A thousand lost connections, idle or with a check in flight, leave no descriptor and no memory behind.

use RateLimit::Test;

# A connection ends with its answer, without one, or in the middle of one.
my $reset = (time + 1800) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words;
    return $command eq 'hincrby' ? integer(7) : fallback($words) if $command ne 'hmget';
    my $answer = hmget(5, $reset);
    my ($kind) = $key =~ /:(\w+)$/;
    if ($kind ne 'fine') {
        $conn->send($kind eq 'answered' ? $answer : $kind eq 'halved' ? substr $answer, 0, 9 : '');
        $conn->cut($kind eq 'reset');
        return;
    }
    return $answer;
});
my $stores = 60;
my $nginx  = RateLimit::Nginx->start(
    events => 'worker_connections 512;',
    http => join('', map { redis_block("s$_", $fake) } 1 .. $stores),
    server => 'keepalive_requests 1000000; rate_limit_key $http_x_key; rate_limit_store s$http_x_store;
        rate_limit 1000000r/h; rate_limit_log_level info; location / {}',
);
my ($worker) = $nginx->workers;
sub descriptors () { return scalar(() = glob "/proc/$worker/fd/*") }
sub kilobytes ()   { return read_text("/proc/$worker/status") =~ /VmRSS:\s+(\d+)/ ? $1 : 0 }

sub reconnect ($until) {
    my @kinds = qw(answered answered halved answered answered reset answered answered ended answered fine);
    my ($turn, $failed) = (0, 0);
    wait_until {
        my @requests = map { ['/x', 'X-Store' => $_, 'X-Key' => $kinds[($turn + $_) % @kinds]] } 1 .. $stores;
        $turn++;
        $failed += grep { $_->status != 200 } $nginx->parallel(connections => 4, requests => \@requests);
        $fake->connections >= $until
    } timeout => 400, what => "$until connections";
    return is $failed, 0, "$until connections: every request is served";
}
# Waits until each store serves again, so that as many connections are open as there are stores, and returns descriptors and kB.
sub settled () {
    $fake->drop;
    wait_until {
        my @requests = map { ['/x', 'X-Store' => $_, 'X-Key' => 'fine'] } 1 .. $stores;
        my @responses = $nginx->parallel(connections => 4, requests => \@requests);
        !grep { !defined limits($_)->{used} } @responses
    } timeout => 60, what => 'every store to serve';
    return (descriptors(), kilobytes());
}

reconnect(200);
my ($files, $memory) = settled();
reconnect(1260);
my ($files_later, $memory_later) = settled();
diag "$files descriptors and $memory kB, after a thousand reconnects $files_later and $memory_later kB";
cmp_ok $files_later, '<=', $files + 4, 'no descriptor is left behind';
SKIP: {
    skip 'what watches memory keeps some', 1 if $ENV{WATCH};
    cmp_ok $memory_later, '<=', $memory + 2048, 'nor memory';
}
is $nginx->count_log(qr/worker_connections|Too many/), 0, 'nor a slot of a connection';

done;
