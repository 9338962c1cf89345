# A cost above the whole limit, in the modes that know it before: rejected whatever the store says, with what is left and no
# Retry-After. Nothing is reserved for it, here or in the limits beside it.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nowhere = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    http    => redis_block('main', $redis)
        . redis_block('away', $nowhere, 'check_timeout 50ms;') . '
        rate_limit_key $http_x_key; rate_limit_cost $http_x_cost; rate_limit_headers github ietf;',
    server => 'location / { }'
        . join('', map { my ($store, $mode) = @$_; "location /$store-$mode { rate_limit_store $store; rate_limit_mode $mode;
            rate_limit 10r/h name=$store-$mode; }" } [qw(local charge_refund)], [qw(local lease)], [qw(main charge_refund)],
            [qw(main lease)], [qw(away charge_refund)], [qw(away lease)])
        . 'location /after { rate_limit 10r/h mode=check_charge name=after; }
        location /zero { rate_limit 0r/h mode=charge_refund name=zero; }
        location /dry { rate_limit 10r/h mode=charge_refund name=dry dry_run=on; rate_limit 99r/h name=beside cost=1; }
        location /beside { rate_limit_store main;
            rate_limit 99r/h mode=charge_refund name=first; rate_limit 10r/h mode=charge_refund name=small; }',
);

sub ask ($where, $cost, $key = 'k') { return $nginx->get("/$where", 'X-Key' => $key, 'X-Cost' => $cost) }

sub shown ($response) { return [$response->status, @{limits($response)}{qw(used remaining retry_after)}] }

sub reservations () { return $redis->script_calls }

for my $where (qw(local-charge_refund local-lease main-charge_refund main-lease)) {
    is_deeply shown(ask($where, 11)), [429, 0, 10, undef], "$where: rejected, with all that is left";
    is_deeply shown(ask($where, 3)), [200, 3, 7, undef], "$where: nothing was used by it";
    is_deeply shown(ask($where, 1_000_000_000)), [429, 3, 7, undef], "$where: then with what is left then";
    is_deeply shown(ask($where, 10)), [429, 3, 0, ask($where, 8)->header('Retry-After')],
        "$where: a cost of just the limit may fit later";
    ok defined ask($where, 10)->header('Retry-After'), "$where: and is told when";
}
is $nginx->count_log(qr/"local-lease" exceeded: a cost of 11 is above the whole limit, 0 used of 10 in 3600 s/), 1, 'logged';
is $nginx->count_log(qr/"local-lease" exceeded: a cost of 1000000000 is above .* 3 used/), 1, 'with the cost';

# Redis alone knows what other machines have used.
my $reset = (time + 1800) . '000';
$redis->cmd('HSET', "rl:main-$_/3600:others", used => 6, reset => $reset) for qw(charge_refund lease);
for my $mode (qw(charge_refund lease)) {
    my $before = reservations();
    my $response = ask("main-$mode", 11, 'others');
    is_deeply shown($response), [429, 6, 4, undef], "$mode: the window is read";
    is limits($response)->{reset}, substr($reset, 0, -3), "$mode: with its end";
    is $response->header('RateLimit'), qq("main-$mode";r=4;t=) . ($response->header('RateLimit') =~ /t=(\d+)/)[0], "$mode: ietf";
    my $reads = $redis->calls('hmget');
    is_deeply shown(ask("main-$mode", 12, 'others')), [429, 6, 4, undef], "$mode: again, from memory";
    is $redis->calls('hmget'), $reads, "$mode: without a read";
    is reservations(), $before, "$mode: nothing is reserved";
    is $redis->used('others', "main-$mode/3600"), 6, "$mode: nor charged";
}

$nowhere->kill;
for my $mode (qw(charge_refund lease)) {
    is_deeply shown(ask("away-$mode", 11)), [429, 0, 10, undef], "$mode: rejected while the store is away, under allow";
    is ask("away-$mode", 10)->status, 200, "$mode: what could fit is allowed";
}

is_deeply shown(ask('after', 11)), [200, 11, 0, undef], 'check_charge does not know before';
is_deeply shown(ask('zero', 11)), [429, 0, 0, 3600], 'a limit of 0 rejects as ever';
my $dry = ask('dry', 11);
is_deeply [@{shown($dry)}, limits($dry)->{resource}], [200, 0, 10, undef, 'dry'], 'a dry run lets it pass, and shows the same';
is $nginx->count_log(qr/"dry" exceeded, dry run: a cost of 11 is above the whole limit/), 1, 'and logs it';
is ask('dry', 10)->status, 200, 'it was not charged';
is_deeply [@{limits(ask('dry', 1))}{qw(resource used remaining)}], ['dry', 10, 0], 'only what fits is';

my $before = reservations();
is_deeply shown(ask('beside', 11, 'two')), [429, 0, 10, undef], 'beside another limit';
is reservations(), $before, 'that one is not asked';
is $redis->cmd('EXISTS', 'rl:first/3600:two'), 0, 'nor charged';

done;
