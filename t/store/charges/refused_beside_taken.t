#!/usr/bin/env perl

# Two charges leave together; the first is refused for now, the second is taken: the first goes again.

use lib 't/lib';
use RateLimit::Test;

my $charges = 0;
my $reset   = (time + 1800) . '000';
my $redis   = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return hmget(undef, undef) if $words->[0] eq 'hmget';
    return fallback($words)    if $words->[0] ne 'evalsha';
    return error("OOM command not allowed when used memory > 'maxmemory'.") if $charges++ == 0;
    return array(integer(1), integer($reset));
});
my $address = $redis->address;
my $nginx   = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { shard a primary=$address; check_timeout 5s; connect_timeout 5s; }",
    server => 'location / { rate_limit_key $arg_k; rate_limit_store main;
        rate_limit 99r/h name=one; rate_limit 99r/h name=two; }',
);
sub sent ($name) { return scalar grep { $_->[3] eq "rl:$name/3600:a" } $redis->commands('evalsha') }

is $nginx->get('/x?k=a')->status, 200, 'a request under two limits';
wait_until { sent('one') == 2 } what => 'the refused charge, again';
is sent('two'), 1, 'the other was charged once';
$nginx->stop;
is $nginx->count_log(qr/lost|dropped|doubt/), 0, 'nothing is left behind';

done;
