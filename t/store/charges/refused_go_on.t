# While a primary refuses writes one charge at a time is tried. If that one fails for a reason of its own, the next is
# tried: the others do not wait for ever.

use RateLimit::Test;

my $odd = 1;
my $redis = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) {
    return error("READONLY You can't write against a read only replica.") if !$conn->state('writable');
    return $odd-- > 0 ? error('ERR odd') : $taken;
}));
my $nginx = RateLimit::Nginx->with_limit('99r/h', redis_block('main', $redis), key => '$arg_k');

is $nginx->get("/x?k=$_")->status, 200, "$_ passes" for 1 .. 9;
$nginx->wait_log(qr/refuses charges: readonly: it is a replica now \(charge.lua: "READONLY You can't write/);
wait_until { $redis->commands('evalsha') >= 3 } what => 'more tries';
$redis->set_and_forget(writable => 1);
wait_until { $redis->commands('evalsha') >= 9 } what => 'all that waited';
my %sent;
$sent{$_->[3]}++ for $redis->commands('evalsha');
is scalar(keys %sent), 9, 'each is sent';
is sum0(values %sent), 9, 'once';
$nginx->wait_log(qr/1 charges for .* were dropped: .*\(1 dropped so far\)/);
$nginx->wait_log(qr/takes charges again/);
$nginx->stop;
is $nginx->count_log(qr/takes charges again/), 1, 'and said once';
is $nginx->count_log(qr/doubt|lost|does not serve/), 0, 'nothing else is lost';

done;
