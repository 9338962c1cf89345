# After a stall a request that is new waits for check_timeout, and no longer, whatever was put off before it.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    return $words->[1] =~ /:held/ ? $conn->hold('gate', hmget(undef, undef)) : hmget(undef, undef);
});
my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis, 'check_timeout 100ms; connect_timeout 2s;'),
    more => 'rate_limit_on_error deny; rate_limit_exempt_status 200;');
my ($worker) = $nginx->workers;

# Milliseconds that the new request waits.
sub waited () {
    wait_until { $nginx->get('/x', 'X-Key' => 'other')->status == 200 } what => 'Redis to be up';
    $redis->forget;
    my $old = $nginx->begin('/x', 'X-Key' => 'held-old');
    wait_until { $redis->commands('hmget') } what => 'what it asks';
    kill STOP => $worker;
    let_pass(0.25);
    kill CONT => $worker;
    $nginx->get('/');    # it runs again
    my $began = monotonic();
    my $new   = $nginx->begin('/x', 'X-Key' => 'held-new');
    $new->response;
    my $waited = (monotonic() - $began) * 1000;
    $old->response;
    $redis->release('gate');
    return $waited;
}

# A busy machine makes some of them longer.
ok wait_until { waited() < 135 }, 'not a third of check_timeout more';
$nginx->stop;

done;
