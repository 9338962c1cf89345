# When as many windows wait for the primary as may, in a small zone and in the worker, further ones are dropped and counted, and cost no more than those
# that found room.

use RateLimit::Test;

my ($room, $each, $excess) = (100_000, 100, 40);
my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http => 'rate_limit_zone 128k; ' . redis_block('main', ['127.0.0.1:%%PORT_1%%', $redis]),
    server => 'location / { rate_limit_key $arg_k; rate_limit_store main;'
        . join('', map { "rate_limit 9r/h name=n$_;" } 1 .. $each) . '}',
);
my ($worker, $n) = ($nginx->workers, 0);
sub spent () {
    my ($user, $system) = (split ' ', (read_text("/proc/$worker/stat") =~ /\) (.*)/)[0])[11, 12];
    return $user + $system;
}
sub requests ($count) {
    my $begun = spent();
    my @requests = map { ['/x?k=' . ++$n] } 1 .. $count;
    is_deeply statuses($nginx->parallel(connections => 2, requests => \@requests)), {200 => $count}, "$count requests";
    return spent() - $begun;
}

requests(1);
$nginx->wait_log(qr/primary .* is down/);
my $filling = requests($room / $each - 1);
is $nginx->count_log(qr/were dropped/), 0, 'as many find room';
my $full = requests($excess);
cmp_ok $full, '<=', $filling + patience(50), "$excess more cost less than all before: $full and $filling ticks";
my $dropped = qr/were dropped: too many windows wait for the primary \((\d+) dropped so far\)/;
$nginx->wait_log($dropped);
# The line comes once a second at most.
wait_until { $nginx->get('/x?k=' . ++$n); grep { $_ > $excess * $each } $nginx->error_log =~ /$dropped/g }
    what => 'all of them in the count';
$nginx->stop;
$nginx->wait_log(qr/charges of $room windows for primary \S+ of "main" are lost as this worker ends/);

done;
