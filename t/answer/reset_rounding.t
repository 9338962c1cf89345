# X-RateLimit-Reset and Retry-After are whole seconds rounded up, Retry-After at least 1; a window is open
# while now is before its reset.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->with_limit('5r/h', redis_block('main', $redis));

sub full ($key, $reset) {
    $redis->cmd('HSET', "rl:default/3600:$key", used => 5, reset => $reset);
    return $nginx->get('/x', 'X-Key' => $key);
}

for my $part (0, 1, 499, 500, 999) {
    my $reset  = 1000 * int(now + 100) + $part;
    my $before = now;
    my $limits = limits(full("p$part", $reset));
    my $after  = now;
    is $limits->{reset}, int($reset / 1000) + ($part > 0), "reset with .$part s";
    cmp_ok $limits->{retry_after}, '>=', $reset / 1000 - $after,  "Retry-After is not too early";
    cmp_ok $limits->{retry_after}, '<',  $reset / 1000 - $before + 1.01, 'nor a second late';
}
my $soon = wait_until {
    my $end      = int(1000 * now) + 900;
    my $response = full("soon$end", $end);
    1000 * now < $end && $response
} what => 'an answer before the window closes';
is_deeply [$soon->status, limits($soon)->{retry_after}], [429, 1], 'at least 1';
is full('closed', int(1000 * now) - 1)->status, 200, 'a window that has closed is ignored';
is full('far', int(1000 * now) + 3_600_000 + 50_000)->status, 429, 'one that ends within the skew allowed is not';
shows full('wrong', int(1000 * now) + 3_600_000 + 70_000), 200, {used => 1},
    'one that ends beyond it is, and counted from the start';
$nginx->stop;
is $redis->used('wrong'), 1, 'it is repaired';
cmp_ok $redis->stored('wrong')->{reset}, '<=', 1000 * now + 3_600_000, 'its reset too';

done;
