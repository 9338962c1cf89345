# A server that goes on answering that it cannot serve, to PING too, is left after some tries: its address may lead to
# another one by now.

use RateLimit::Test;

my ($old, $new) = map {
    my $which = $_;
    RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")
            if $which eq 'old' && $conn->state('down');
        return $words->[0] eq 'hmget' ? hmget(undef, undef) : fallback($words);
    })
} qw(old new);
my $proxy = RateLimit::Proxy->start(to => $old->port);
my $nginx = RateLimit::Nginx->with_limit('100r/h', redis_block('main', $proxy),
    more => 'rate_limit_on_error deny; rate_limit_exempt_status 200;');
my sub status () { return $nginx->get('/x', 'X-Key' => 'k')->status }

is status(), 200, 'before';
$old->set(down => 1);
$proxy->lead_to($new->port);
is status(), 503, 'it cannot serve';
wait_until { status() == 200 } what => 'another server';
is $proxy->connections, 2, 'on another connection';
$nginx->stop;
is $nginx->count_log(qr/does not serve: masterdown/), 1, 'told once';

done;
