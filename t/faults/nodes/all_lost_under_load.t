# Under load all nodes are frozen, killed and brought back: with allow no request fails, with deny only by
# rate_limit_error_status, none waits longer than check_timeout, few lines are logged, and then all is as before.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1, redis => {appendonly => 1});
my $nginx  = RateLimit::Traffic->nginx(
    http   => $shards->block('main', 'check_timeout 1500ms; connect_timeout 1500ms;'),
    server => 'rate_limit_log_level info;
        location / { rate_limit 1000000r/h store=main; } location /full { rate_limit 5r/h store=main name=full; }
        location /deny { rate_limit 1000000r/h store=main; rate_limit_on_error deny; }',
);
for my $key (RateLimit::Traffic->keys) {
    $_->cmd('HSET', "rl:full/3600:$key", used => 5, reset => (time + 3600) . '000') for $shards->primaries;
}
$shards->wait_synced;
my $traffic = RateLimit::Traffic->start($nginx, connections => 16, uris => [qw(/x /deny /full)]);
my %limit = (timeout => 1.5);

# A window that is used up needs no nodes: memory knows it.
sub checked (@seen) { return grep { $_->{uri} ne '/full' && $_->{outcome} !~ /ERROR/ } @seen }

# No node is left: requests are answered at once.
sub nobody ($what) {
    wait_until {
        my $last = $traffic->mark;
        !checked(@{$traffic->more(100)->since($last)})
    } what => 'all nodes to be down';
    my $down = $traffic->mark;
    my $seen = $traffic->more(500)->since($down);
    is_deeply [checked(@$seen)], [], "$what: nobody can be asked";
    my $slow = grep { $_->{wait} >= patience(0.45) } @$seen;    # a third of check_timeout is 0.5 s
    cmp_ok $slow, '<=', @$seen / 100, "$what: and nobody is waited for ($slow slow of " . @$seen . ')';
    return $traffic->is_served($what, %limit);
}
sub back ($what) {
    my $begun = monotonic();
    wait_until {
        my $last = $traffic->mark;
        !grep { $_->{outcome} =~ /ERROR/ } @{$traffic->more(100)->since($last)}
    } what => "$what: all checks to be answered again";
    diag sprintf '%s: back after %.1f s', $what, monotonic() - $begun;
    $_->forget_calls for $shards->all;
    wait_until { !grep { !$_->calls('hmget') && !$_->calls('hincrby') && !$_->calls('evalsha') } $shards->all }
        what => "$what: every node to be asked again";
    return $traffic->is_served($what, %limit);
}

$traffic->more(300)->is_served('healthy', %limit, passes => 1);
for my $round (1 .. 2) {
    $_->freeze for $shards->all;
    nobody("all frozen, $round");
    $_->thaw for $shards->all;
    back("thawed, $round");
}
$_->kill for $shards->all;
nobody('all killed');
$_->restart for $shards->primaries;
$_->restart for map { $shards->replicas($_) } 0, 1;
back('restarted');
$traffic->more(300)->is_served('as before', %limit, passes => 1);
$traffic->stop;
$nginx->stop;
is $traffic->unanswered, 0, 'every request got a response';

# The cause of a line is its text without counts: which node or limit, and what.
my %lines;
for (split /\n/, $nginx->error_log) {
    my ($second, $line) = /^(\S+ \S+) \[(?:error|warn|crit|alert|notice)\] .*?(rate limit.*)/ or next;
    $line =~ s/, client: .*|\(\d.*|after [\d.]+ s|for [\d.]+ s by now|rate limit: \d+//g;
    $lines{"$second $line"}++;
}
cmp_ok scalar(keys %lines), '>', 10, 'the log tells';
is_deeply [grep { $lines{$_} > 2 } sort keys %lines], [], 'no cause has more than two lines in a second';

done;
