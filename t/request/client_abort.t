# Clients that leave while the store is silent, many, over HTTP/1 and HTTP/2, or that only shut down their side: 499, not charged, and answers
# that come late find nobody, neither streams that came after on a connection that goes on.

use RateLimit::Test;

my $slow  = RateLimit::FakeRedis->start(handler => holding_reads());
my $quick = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) { return $taken }));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('slow', $slow, timeouts('20s')) . redis_block('quick', $quick) . '
        log_format short "$status $rate_limit_status $http_x_key";
        rate_limit_store slow; rate_limit_key $http_x_key;
        server { listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/short short;
            location / { rate_limit 99r/h; } }',
    server => 'access_log %%DIR%%/short short;
        location / { rate_limit 9r/h store=quick; rate_limit 99r/h name=b; }
        location /local { rate_limit 9r/h store=local name=local; }
        location /pre { rate_limit 9r/h store=quick; rate_limit 9r/h name=b phase=precontent; }',
);
my ($asked, $ended) = (0, 0);
my sub wait_asked ($more, $what) {
    $asked += $more;
    wait_until { $slow->commands('hmget') == $asked } what => $what;
}
# The lines of so many more requests.
my sub endings ($more) {
    my $before = $ended;
    $ended += $more;
    wait_until { $nginx->lines('short') == $ended } what => 'the log';
    return [sort((($nginx->lines('short'))[$before .. $ended - 1]))];
}
sub charged () { return map { "@$_" =~ /(rl:\S+)/ } map { $_->writes } $slow, $quick; }

my @clients = map { $nginx->begin('/x', 'X-Key' => 'gone') } 1 .. 100;
wait_asked(100, 'the checks');
$_ % 2 ? $clients[$_]->abort : $clients[$_]->close for 0 .. $#clients;
is_deeply endings(100), [('499 - gone') x 100], 'each ends with 499, undecided';

my $half = $nginx->begin('/pre', 'X-Key' => 'half');
wait_asked(1, 'the precontent check');
$half->abort;
is_deeply endings(1), ['499 - half'], 'also between two phases';

my @h2load = (qw(h2load -n 50 -c 1 -m 50 -H), 'X-Key: gone', 'http://127.0.0.1:' . $nginx->port(1) . '/x');
my $client = RateLimit::Process->start(command => \@h2load, output => '/dev/null');
wait_asked(50, 'the checks of 50 streams');
$client->kill;
is_deeply endings(50), [('499 - gone') x 50], 'as do 50 streams';

# A client that shuts down its side has left, as far as nginx is concerned.
my $shut = $nginx->begin('/x', 'X-Key' => 'shut');
shutdown $shut->socket, 1;
is_deeply endings(1), ['499 - shut'], 'its side is shut down at once';
$shut->at_end(5);
$asked = $slow->commands('hmget');
my $later = $nginx->begin('/x', 'X-Key' => 'later');
wait_asked(1, 'the check');
shutdown $later->socket, 1;
is_deeply endings(1), ['499 - later'], 'or later';
my $served = $nginx->begin('/local', 'X-Key' => 'local');
shutdown $served->socket, 1;
is $served->response->status, 200, 'where nobody waits it gets its answer';
is_deeply endings(1), ['200 PASSED local'], '... and is counted';

$slow->release('gate');
my $http = $nginx->begin('/x', 'X-Key' => 'here');
wait_asked(1, 'another check');
$slow->release('gate');
is $http->response->status, 200, 'answers that come late do no harm';
is_deeply endings(1), ['200 PASSED here'], '... to one that stays';
wait_until { charged() == 2 } what => 'charges';
is_deeply [sort(charged())], ['rl:b/3600:here', 'rl:default/3600:here'], 'nobody who left is charged';
$_->forget for $slow, $quick;
$asked = 0;

# Frames of HTTP/2: streams are reset, and their connection goes on.
sub frame ($type, $flags, $stream, $payload) {
    return substr(pack('N', length $payload), 1) . pack('CCN', $type, $flags, $stream) . $payload;
}
sub ask ($stream, $key) {
    my $head = "\x82\x86\x44\x02/x\x41\x09localhost";                   # GET http /x, of the static table
    $head .= "\x00\x05x-key" . chr(length $key) . $key;
    return frame(1, 0x05, $stream, $head);                              # HEADERS, the only one, ends the stream
}
sub reset_stream ($stream) { return frame(3, 0, $stream, pack 'N', 8) }    # CANCEL

my $streams = RateLimit::HTTP->new(port => $nginx->port(1));
$streams->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(4, 0, 0, ''));
$streams->send(join '', map { ask(2 * $_ - 1, "gone$_") } 1 .. 20);
wait_asked(20, 'the checks');
$streams->send(join '', map { reset_stream(2 * $_ - 1) } 1 .. 19);
is_deeply endings(19), [sort map { "499 - gone$_" } 1 .. 19], 'streams that were reset';
$streams->send(join '', map { ask(2 * $_ - 1, 'here') } 21 .. 40);
wait_asked(20, 'more checks');
$slow->release('gate');
is_deeply endings(21), [sort '200 PASSED gone20', ('200 PASSED here') x 20], 'the others';
$streams->close;
$nginx->stop;
is_deeply $slow->charged, {'rl:default/3600:gone20' => 1, 'rl:default/3600:here' => 20}, '... are charged';
is_deeply [$quick->writes], [], '... and nobody else';

done;
