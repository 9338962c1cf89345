# An answer that nobody waits for ends the connection also after one that was lost with commands in flight.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my ($kind) = $words->[1] =~ /:(\w+)$/;
    return $conn->close(1) if $kind eq 'lose';
    return hmget(7, $reset) . ($kind eq 'stray' ? hmget(99, $reset) : '');
});
my $limits = join '', map { "rate_limit 1000r/h name=limit-$_ store=main cost=0;\n" } 1 .. 5;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 5s;'),
    server => "rate_limit_key \$arg_k; rate_limit_headers ietf; rate_limit_exempt_status 200; location / { $limits }
        location /one { rate_limit 1000r/h store=main cost=0; alias %%DIR%%/html/x; }",
);

sub shown ($uri, $key) {
    my $shown = $nginx->get("$uri?k=$key")->header('RateLimit') // '';
    return $shown =~ /r=(\d+)/ ? 1000 - $1 : 'none';
}

is shown('/x', 'a'), 7, 'five answers';
is shown('/x', 'lose'), 'none', 'five commands are lost';
wait_until { shown('/x', 'b') eq 7 } what => 'the next connection';
my $pings = () = $redis->commands('ping');
$nginx->get('/one?k=stray');
wait_until { shown('/x', 'c') eq 7 } what => 'right answers';
cmp_ok scalar($redis->commands('ping')), '>', $pings, 'one answer too many: they come over another connection';

done;
