# A reload replaces a shard: windows that memory knows from the old one soon start anew at the new one, and what waits
# for the old one is not counted there. It goes to the old one if a reload brings that back.

use RateLimit::Test;

my %redis = map { $_ => RateLimit::Redis->start(appendonly => 1) } qw(a b);
sub http ($shard) {
    return 'rate_limit_redis main { check_timeout 5s; connect_timeout 5s; charge_timeout 100ms; '
        . "shard $shard primary=@{[$redis{$shard}->address]}; }";
}
my $nginx = RateLimit::Nginx->with_limit('5r/h', http('a'), more => 'rate_limit_on_error local;');
sub get ($key) { return $nginx->get('/x', 'X-Key' => $key) }
sub admitted ($key) {
    return wait_until { my $r = get($key); $r->status == 200 && $r } what => "$key to be admitted";
}

is_deeply statuses(map { get('full') } 1 .. 6), {200 => 5, 429 => 1}, 'a client at its limit';
is_deeply statuses(map { get('part') } 1 .. 2), {200 => 2}, 'one below it';
wait_until { $redis{'a'}->used('full') == 5 && $redis{'a'}->used('part') == 2 } what => 'charges at the old shard';
$redis{a}->kill;
is_deeply statuses(map { get('part') } 1 .. 5), {200 => 3, 429 => 2}, 'reaches it while the shard is away';
$nginx->reload(http => http('b'), wait_old => 1);

for my $key (qw(part full)) {
    is limits(admitted($key))->{used}, 1, "$key: a new window at the new shard";
    is_deeply statuses(map { get($key) } 1 .. 5), {200 => 4, 429 => 1}, 'for as many requests as ever';
}
wait_until { $redis{'b'}->used('full') == 5 && $redis{'b'}->used('part') == 5 } what => 'charges at the new shard';

$nginx->reload(http => http('a'), wait_old => 1);
is get('other')->status, 200, 'the old shard is in the configuration again, and away';
$redis{a}->restart;
wait_until { $redis{'a'}->used('part') == 5 && $redis{'a'}->used('other') == 1 } what => 'what waited, at the old shard';
$nginx->stop;
is_deeply [map { $redis{'b'}->used($_) } qw(full part)], [5, 5], 'nothing of it at the new one';
is $nginx->count_log(qr/are lost/), 0, 'and nothing is lost';

done;
