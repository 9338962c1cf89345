# A server that answers by a text of 2 GB, or by a line without end: the connection is closed long before a worker has it all in memory, and the log says so.

use RateLimit::Test;

for ([ "*2\r\n\$2000000000\r\n", '1', 'text above 1 MB' ], [ '+', "\r", 'line above 64 KB' ]) {
    my ($begin, $byte, $what) = @$_;
    my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return fallback($words) if $words->[0] ne 'hmget';
        $conn->send($begin);
        $conn->send($byte x 1_000_000) for 1 .. 60;
        return;
    });
    my $nginx = RateLimit::Nginx->with_limit('100r/h', redis_block('main', $fake, 'check_timeout 9s; charge_timeout 20s;'),
        more => 'add_header X-Outcome $rate_limit_status;');
    my $worker = ($nginx->workers)[0];
    my $kilobytes = sub { read_text("/proc/$worker/status") =~ /VmHWM:\s+(\d+)/ ? $1 : 0 };

    my $before = $kilobytes->();
    is outcome($nginx->get('/x', 'X-Key' => 'k')), '200 ERROR_ALLOWED', "$what: an answer without end is none";
    $nginx->wait_log(qr/primary .* is down: its answer has a $what/);
    cmp_ok $kilobytes->() - $before, '<', 10_000, "$what: kilobytes that the worker took more, at most";
}

done;
