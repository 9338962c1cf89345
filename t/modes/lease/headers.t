# lease: what clients see: tokens at hand on this machine are not used, the reset is the stored one, whichever machine
# and worker answers, and on rejection nothing remains. Replicas are never asked.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1, names => ['seven']);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my @nginx = map { RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => $shards->block('main') . '
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key; rate_limit_headers github ietf;
        rate_limit_cost $arg_cost;
        add_header X-Variables "$rate_limit_status $rate_limit_resource $rate_limit_limit" always;
        add_header X-Numbers "$rate_limit_used $rate_limit_remaining $rate_limit_reset $rate_limit_shard" always;
        add_header X-Worker $pid always; add_header X-Waited $rate_limit_store_time always;',
    server => 'location / { rate_limit 1000r/h name=core; rate_limit_lease 100; }
        location /few { rate_limit 10r/h name=few; rate_limit_lease 4; }
        location /auto { rate_limit 100000r/d name=auto window=clock; }',
) } 1, 2;
my ($one, $other) = @nginx;
my %window = (x => 'core/3600', few => 'few/3600', auto => 'auto/86400c');


sub stored ($name, $key) { return $primary->stored($key, $window{$name}) }

# All that a response says agrees; returns what it says of use.
sub consistent ($response, $what) {
    my $limits = limits($response);
    my ($limit, $used, $remaining, $reset, $name) = @$limits{qw(limit used remaining reset resource)};
    my $outcome = $response->status == 429 ? 'REJECTED' : 'PASSED';
    my ($ietf, $left) = ($response->header('RateLimit') // '') =~ /^"\Q$name\E";r=(\d+);t=(\d+)$/;
    my $right = $response->header('X-Variables') eq "$outcome $name $limit"
        && $response->header('X-Numbers') eq "$used $remaining $reset seven" && $ietf == $remaining
        && $remaining == ($response->status == 429 ? 0 : $limit - $used) && abs($reset - $response->date - $left) <= 1
        && ($response->status == 429) == defined $limits->{retry_after};
    ok $right, "$what: all agrees" or diag $response->raw_head;
    return $used;
}

sub reset_of ($response) { return limits($response)->{reset} }

sub in_seconds ($name, $key) { return int((stored($name, $key)->{reset} + 999) / 1000) }

my (@responses, %workers);
wait_until {
    push @responses, $one->get('/x', 'X-Key' => 'k');
    $workers{$responses[-1]->header('X-Worker')}++;
    @responses >= 120 && keys %workers == 2
} timeout => 60, what => 'both workers to have served';
is_deeply [map { limits($_)->{used} } @responses], [1 .. @responses], 'used counts what is spent, over workers and batches';
consistent($responses[$_], "request $_") for 0, 1, 99, 100, $#responses;
cmp_ok stored('x', 'k')->{used}, '>', @responses, 'though more is stored';
my $waited = grep { $_->header('X-Waited') > 0 } @responses;
cmp_ok $waited, '<=', 4, 'hardly any has waited';

my $exempt = $one->get('/x', 'X-Key' => 'k', 'If-None-Match' => '*');
is_deeply [$exempt->status, limits($exempt)->{used}], [304, scalar @responses], 'an exempt one does not count';
my $cost = $one->get('/x?cost=7', 'X-Key' => 'k');
is consistent($cost, 'one that costs 7'), @responses + 7, 'a cost counts in full';
is limits($one->get('/x?cost=0', 'X-Key' => 'k'))->{used}, @responses + 7, 'one that is free not at all';

my $elsewhere = stored('x', 'k')->{used};
push @responses, my $seen = $other->get('/x', 'X-Key' => 'k');
is consistent($seen, 'the other machine'), $elsewhere + 1, 'what one machine has at hand is used for another';

# The reset, over seconds.
my $begun = monotonic();
wait_until { push @responses, map { $_->get('/x', 'X-Key' => 'k') } @nginx; monotonic() - $begun > 1.1 } what => 'a second';
my $reset = in_seconds('x', 'k');
is_deeply [grep { reset_of($_) != $reset } @responses], [], 'every response shows the stored reset, whoever answers';

my @few = map { $one->get('/few', 'X-Key' => 'k') } 1 .. 14;
is_deeply statuses(@few), {200 => 10, 429 => 4}, 'few: up to the limit';
is_deeply [map { consistent($few[$_], "request $_") } 0 .. $#few], [1 .. 10, (10) x 4], 'used does not pass it';
is_deeply [map { limits($_)->{remaining} } @few], [reverse(0 .. 9), (0) x 4], 'remaining is what is left';
is_deeply [grep { reset_of($_) != in_seconds('few', 'k') } @few], [], 'always with the stored reset';
my $retry = limits($few[-1])->{retry_after};
cmp_ok abs($few[-1]->date + $retry - reset_of($few[-1])), '<=', 1, 'Retry-After says when it ends';
is_deeply [limits($one->get('/few?cost=20', 'X-Key' => 'new'))->{used}, consistent($one->get('/few', 'X-Key' => 'new'),
    'the next')], [0, 1], 'a request that could never pass uses nothing';
my $at_limit = $other->get('/few', 'X-Key' => 'k');
is_deeply [$at_limit->status, consistent($at_limit, 'at the limit'), limits($at_limit)->{remaining}], [429, 10, 0],
    'the other machine sees the same';

my @auto = map { $one->get('/auto', 'X-Key' => 'k') } 1 .. 700;
is_deeply [map { limits($_)->{used} } @auto], [1 .. 700], 'auto: used counts what is spent';
my $stored = in_seconds('auto', 'k');
is_deeply [grep { reset_of($_) != $stored } @auto], [], 'always with the stored reset';
is $stored % 86400, 0, 'which is the end of the day';

$shards->wait_synced;
is_deeply [map { $replica->calls($_) } qw(hmget evalsha eval)], [0, 0, 0], 'no replica is asked';
# A script that opens a window looks for a penalty, too.
my @opened = $primary->keys;
is $primary->calls('hmget') - $primary->script_calls - @opened, 1,
    'nor the primary in any other way, but for the cost that could never pass';

done;
