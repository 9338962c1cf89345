#!/usr/bin/env perl

# A primary answers READONLY while more was sent to it: the connection is not left before all of that is answered, and
# nothing of it is in doubt.

use lib 't/lib';
use RateLimit::Test;

my $reset   = (time + 1800) . '000';
my $sent    = 0;
my $primary = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] !~ /^(?:hincrby|evalsha)$/;
    $sent++;
    return $conn->hold('first', error("READONLY You can't write against a read only replica.")) if $sent == 1;
    return $conn->hold('rest', array(integer(1), integer($reset))) if $sent <= 3;
    return array(integer(1), integer($reset));
});
my $replica = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return $words->[0] eq 'hmget' ? hmget(undef, undef) : fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', [$primary, $replica], 'check_timeout 20s; connect_timeout 20s; charge_timeout 20s;'),
    server => 'rate_limit_key $http_x_key; location / { rate_limit 1000r/h store=main; }',
);
my sub writes () { return scalar grep { $_->[0] =~ /^(?:hincrby|evalsha)$/ } $primary->commands }

is $nginx->get('/x', 'X-Key' => $_)->status, 200, "charge $_" for 1 .. 3;
wait_until { writes() == 3 } what => 'all of them on the wire';
$primary->release('first');
$nginx->wait_log(qr/refuses charges: readonly/);
is $nginx->get('/x', 'X-Key' => 4)->status, 200, 'a request meanwhile';
# The first try comes after 100 ms at most: the replica's own clock shows that it has passed.
my $end = monotonic() + 1;
wait_until { monotonic() > $end } what => 'the time of the first try to pass';
is $primary->connections, 1, 'the connection stays while answers are due';
is writes(), 3, 'and nothing more is written on it';
$primary->release('rest');
wait_until { writes() == 5 } what => 'what was refused, and what waited';
is $primary->connections, 2, 'on a new connection';
$nginx->wait_log(qr/takes charges again/);
$nginx->stop;
is $nginx->count_log(qr/doubt|dropped|does not serve|is down/), 0, 'nothing is in doubt';

done;
