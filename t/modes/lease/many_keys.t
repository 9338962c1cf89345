# Tokens of many keys are looked at and given back a few at a time, by workers that share the way over all of them; so no turn
# of a worker's event loop does much for them, and requests are answered in between. All of them come back: when they
# are idle, by workers of a later configuration too, and at the end.

use RateLimit::Test;

qx{'@{[RateLimit::Nginx::binary()]}' -V 2>&1} =~ /--with-debug/
    or plan skip_all => 'this nginx does not log what is counted here';

my $count = 6_000;
my $redis = RateLimit::Redis->start;
my @conf  = (
    workers => 2, log_level => 'debug_core', reuseport => 1,
    http    => redis_block('main', $redis, timeouts('20s')) . 'rate_limit_zone 64m;
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $arg_k; keepalive_requests 1000000;',
    server => 'location / { rate_limit 1000000r/h name=n; }
        location /free { rate_limit off; }',
);
my $nginx = RateLimit::Nginx->start(@conf);

# Returns the sum that is stored for all keys.
sub used () {
    return $redis->cmd('EVAL', q{
        local sum = 0
        for _, key in ipairs(redis.call('KEYS', 'rl:*')) do
            sum = sum + redis.call('HGET', key, 'used')
        end
        return sum}, 0);
}

# Sends two requests for each of so many keys; the second one takes a batch.
sub take ($name) {
    my $flood = RateLimit::Flood->start(
        port => $nginx->port, uris => [map { ("/x?k=$name$_") x 2 } 1 .. $count], requests => 2 * $count, connections => 1);
    return is $flood->counts->{2}, 2 * $count, "$name: two requests for each key pass";
}

# Returns, for each turn since the last call that did anything, how many sets and notes of tokens it looked at, and how many
# notes it gave back.
my $seen = 0;
sub turns () {
    my $log = substr $nginx->error_log, $seen;
    $seen += length $log;
    my @turns;
    push @turns, [$1, $2, $3] while $log =~ /looked at (\d+) sets and (\d+) notes, gave back (\d+)/g;
    return @turns;
}

sub check_turns ($name) {
    my @turns = turns();
    my %most  = (0 => 512, 1 => 400, 2 => 50);
    for my $what (sort keys %most) {
        is_deeply [grep { $_->[$what] > $most{$what} } @turns], [], "$name: no turn did too much";
    }
    my $sum = sum0(map { $_->[2] } @turns);
    return is $sum, $count, "$name: and all of them gave back what was there, each once";
}

take('idle');
cmp_ok used(), '>', 20 * $count, 'many tokens are at hand';
$nginx->reload(wait_old => 1);
my ($asked, $passed) = (0, 0);
wait_until { ++$asked; $passed++ if $nginx->get('/free')->status == 200; used() == 2 * $count } timeout => 60, what => 'idle tokens';
is $passed, $asked, 'meanwhile other requests are answered';
check_turns('idle');

take('end');
$nginx->reload(wait_old => 1);
cmp_ok used(), '>', 20 * $count, 'many tokens are at hand again';
$nginx->stop(timeout => 60);
is used(), 4 * $count, 'all come back at the end';
check_turns('end');
is $nginx->count_log(qr/rate limit: .*(?:is down|does not serve|lost)/), 0, 'the primary was there all the time';

done;
