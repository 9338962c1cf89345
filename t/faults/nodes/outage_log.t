# The log of an outage: its begin, each new reason, once a minute how long it has lasted, and its end, all at level error.
# A further failed try is not logged.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $fake   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return error('LOADING Redis is loading') if $conn->state('loading');
    return $words->[0] eq 'hmget' ? hmget(undef, undef) : fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    # Longer than a busy machine takes for anything, at this speed: else it finds other reasons.
    http   => $shards->block('main', timeouts('200s')) . redis_block('other', $fake, timeouts('200s')),
    server => 'location / { rate_limit_key $http_x_key; rate_limit 100r/h store=main; }
        location /other { rate_limit_key $http_x_key; rate_limit 100r/h store=other exempt=200; }',
    speed => 30,
);
my sub lines ($what) { return () = $nginx->error_log =~ /\[error\] .*? rate limit: $what/g }

is $nginx->get('/x', 'X-Key' => 'k')->status, 200, 'healthy';
# When the second one is there the first one was answered: a connection that has answered nothing yet is lost in another way.
wait_until { $shards->primary->used('k') == 1 } what => 'the charge';
$nginx->get('/x', 'X-Key' => 'k');
wait_until { $shards->primary->used('k') == 2 } what => 'another one';
$_->kill for $shards->all;
my $of   = 'of shard "a" of "main"';
my @down = map { qr/(?:primary|replica) \Q@{[$_->address]}\E $of is down/ } $shards->all;
for my $down (@down) {
    wait_until { $nginx->get('/x', 'X-Key' => 'k')->status == 200 && lines($down) } what => 'the first line';
    wait_until { lines(qr/$down, for \d+\.\d s by now: Connection refused/) >= 2 } what => 'two minutes';
}
for my $down (@down) {
    is scalar(lines(qr/$down: /)), 1, 'the begin is told once';
    my @lasted = $nginx->error_log =~ /$down, for (\d+\.\d) s by now/g;
    my @gaps   = map { $lasted[$_] - $lasted[$_ - 1] } 1 .. $#lasted;
    cmp_ok $lasted[0], '>=', 59, "the next line comes after a minute ($lasted[0] s)";
    is_deeply [grep { $_ < 59 } @gaps], [], 'and so does each other';
}
$_->restart for $shards->all;
for my $redis ($shards->all) {
    wait_until {
        $nginx->get('/x', 'X-Key' => 'k');
        lines(qr/(?:primary|replica) \Q@{[$redis->address]}\E $of is up again after \d+\.\d s/)
    } what => 'its end';
}

is $nginx->get('/other', 'X-Key' => 'k')->status, 200, 'another store';
my $primary = qr/primary \Q@{[$fake->address]}\E of shard "a" of "other"/;
$fake->set(loading => 1);
wait_until {
    $nginx->get('/other', 'X-Key' => 'k');
    lines(qr/$primary does not serve: loading: [^"]*\(\w+: "LOADING Redis is loading"\)/)
} what => 'a line';
$fake->stop;
wait_until { lines(qr/$primary is down, for \d+\.\d s by now: Connection refused/) } what => 'another reason';
$nginx->stop;

done;
