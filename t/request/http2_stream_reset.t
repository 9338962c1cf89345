# HTTP/2: a stream that is reset while its check waits ends with 499 and is not charged; its connection goes
# on, and late answers do not touch streams that came after it.

use RateLimit::Test;

my $fake = RateLimit::FakeRedis->start(handler => holding_reads());
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $fake, timeouts('20s')) . '
        log_format short "$status $rate_limit_status $http_x_key";
        server {
            listen 127.0.0.1:%%PORT%% http2; access_log %%DIR%%/short short;
            rate_limit_store main; rate_limit_key $http_x_key;
            location / { rate_limit 99r/h; }
        }',
);

sub frame ($type, $flags, $stream, $payload) {
    return substr(pack('N', length $payload), 1) . pack('CCN', $type, $flags, $stream) . $payload;
}
sub ask ($stream, $key) {
    my $head = "\x82\x86\x44\x02/x\x41\x09localhost";                   # GET http /x, of the static table
    $head .= "\x00\x05x-key" . chr(length $key) . $key;
    return frame(1, 0x05, $stream, $head);                            # HEADERS, the only one, ends the stream
}
sub reset_stream ($stream) { return frame(3, 0, $stream, pack 'N', 8) }    # CANCEL

my $http = $nginx->http;
$http->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(4, 0, 0, ''));
$http->send(join '', map { ask(2 * $_ - 1, "gone$_") } 1 .. 20);
wait_until { $fake->commands('hmget') == 20 } what => 'the checks';
$http->send(join '', map { reset_stream(2 * $_ - 1) } 1 .. 19);
wait_until { $nginx->lines('short') == 19 } what => 'the log';
is_deeply [sort($nginx->lines('short'))], [sort map { "499 - gone$_" } 1 .. 19], 'streams that were reset';
$http->send(join '', map { ask(2 * $_ - 1, 'here') } 21 .. 40);
wait_until { $fake->commands('hmget') == 40 } what => 'more checks';
$fake->release('gate');
wait_until { $nginx->lines('short') == 40 } what => 'the log';
is_deeply [sort(($nginx->lines('short'))[19 .. 39])], [sort '200 PASSED gone20', ('200 PASSED here') x 20], 'the others';
$http->close;
$nginx->stop;
is_deeply $fake->charged, {'rl:default/3600:gone20' => 1, 'rl:default/3600:here' => 20}, 'charges';

done;
