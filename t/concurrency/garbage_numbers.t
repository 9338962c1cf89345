# A number in the key that no call of the machine ever had, as another program may write it, is garbage: the next call of the machine stands.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, timeouts('9s')),
    server => 'location / { rate_limit_concurrency 3 key=$arg_k store=main; rate_limit_on_error deny; }',
);
is $nginx->get('/x?k=a')->status, 200, 'a request';
my ($me) = keys %{$redis->hash('rl:concurrency/n:a')};
for my $number ('800000000000001', '9' x 15, '9' x 16, '9' x 30) {
    my $key = "k$number";
    $redis->cmd('HSET', "rl:concurrency/n:$key", $me, "0 0 $number");
    is_deeply statuses(map { $nginx->get("/x?k=$key") } 1 .. 5), {200 => 5}, "after $number requests pass";
    my (undef, undef, $stands) = split / /, $redis->hash("rl:concurrency/n:$key")->{$me} // '0 0 0';
    cmp_ok $stands, '<', 8e14, '... and the number is that of a call';
}
is $nginx->count_log(qr/malformed/), 0, 'no answer was odd';

done;
