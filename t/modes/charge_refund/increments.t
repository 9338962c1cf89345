# A window that is known to be open, with a twentieth of its limit left, is charged by a plain increment. The script decides
# about the others, and where the answer is above the limit: then it gives back first what the increment took. Where the answer
# is the cost alone, the key is repaired. Where no charge is settled yet, a refund may delete the window: the script decides.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command) = @$words;
    return integer($conn->state('count')) if $command eq 'hincrby';
    return fallback($words) if $command ne 'evalsha';
    return error('ERR out of order') if @$words == 7 && $conn->state('broken');
    return array(integer(5), integer($reset)) if @$words == 6 || @$words == 7;    # refund.lua, repair.lua
    my $granted = $conn->state('refuses') ? 0 : $words->[5];
    return array(integer($granted), integer($conn->state('used') + $granted), integer($conn->state('soon') ? (time + 4) . '000' : $reset));
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis),
    server => 'rate_limit_key $http_x_key; rate_limit_mode charge_refund; add_header X-Outcome $rate_limit_status always;
        rate_limit_cost $arg_cost; location / { rate_limit 100r/h store=main; }',
);

# What a request of this cost is answered, and the arguments of what it sends.
sub sends ($cost, $key = 'k') {
    $redis->forget;
    my $r = $nginx->get("/x?cost=$cost", 'X-Key' => $key);
    my @sent = map {
        $_->[0] eq 'hincrby' ? "+$_->[3]" : join ' ', @$_ - 4, @$_ > 11 ? @$_[11, 12] : @$_ == 7 ? ($_->[5] > $reset ? 'later' : 'known') : ()
    } $redis->writes;
    return [outcome($r), limits($r)->{used}, @sent];
}

$redis->set(used => 10);
is_deeply sends(5), ['200 PASSED', 15, '6'], 'of a window that is not known the script decides';
$redis->set(count => 20);
is_deeply sends(5), ['200 PASSED', 20, '+5'], 'then an increment does';
is_deeply sends(0), ['200 PASSED', 10, '6'], 'a cost of nothing asks the script';
$redis->set(count => 5);
is_deeply sends(5), ['200 PASSED', 5, '+5', '3 later'], 'the cost alone: the key is repaired, and gets an end of its own';
$redis->set(broken => 1);
is_deeply sends(5), ['200 PASSED', 5, '+5', '3 later'], 'also where the repair is refused';
$nginx->wait_log(qr/answered repair\.lua: "ERR out of order"/);
$redis->set(broken => '');
$redis->set(count => 101);
$redis->set(used => 96);
is_deeply sends(4), ['200 PASSED', 100, '+4', "9 4 $reset"], 'above the limit: it goes back, and the script decides';
is $nginx->get('/x?cost=1', 'X-Key' => 'free', 'If-None-Match' => '*')->status, 304, 'an exempt response';
wait_until { grep { @$_ == 9 } $redis->writes } what => 'the refund';
is_deeply sends(1, 'free'), ['200 PASSED', 97, '6'], 'no charge to its window is settled: the script decides';
is_deeply sends(1, 'other'), ['200 PASSED', 97, '6'], 'another window';
is_deeply sends(1, 'other'), ['200 PASSED', 97, '6'], 'with less than a twentieth left';
$redis->set(used => 50);
is_deeply sends(1, 'third'), ['200 PASSED', 51, '6'], 'a third';
$redis->set(soon => 1);
is_deeply sends(1, 'ends'), ['200 PASSED', 51, '6'], 'one that ends within charge_timeout';
is_deeply sends(1, 'ends'), ['200 PASSED', 51, '6'], 'stays with the script: what an increment took could not go back to it after a late answer';
$redis->set(soon => '');
$redis->set(refuses => 1);
$redis->set(used => 100);
is_deeply sends(3, 'third'), ['429 REJECTED', 100, '+3', "9 3 $reset"], 'the script may refuse';

done;
