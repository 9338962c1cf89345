# lua/charge.lua in a real Redis: which windows are counted on, which are opened anew, and what is stored.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $charge = $redis->script(project_file('lua/charge.lua'));
my $now    = 1_700_000_000_123;
my $period = 3_600_000;
my $reset  = $now + $period;
my $latest = $reset + 60_000;

# Charges at $now unless told; the proposal is a period ahead.
sub charge ($cost, %at) {
    my $time = $at{now} // $now;
    my $proposed = $at{proposed} // $time + $period;
    my $latest = $at{latest} // $proposed + 60_000;
    return $redis->ask('EVALSHA', $charge, 1, 'k', $cost, $time, $proposed, $latest);
}

# Charges like charge(), for a window that must have at least $least without this cost.
sub raise ($least, $cost, $proposed = $reset) { return $redis->ask('EVALSHA', $charge, 1, 'k', $cost, $now, $proposed, $latest, $least) }

sub hold (@fields) { return $redis->hold_only('k', 500_000, @fields) }

subtest 'no window' => sub {
    is_deeply charge(3), [3, $reset], 'used is the cost, reset the proposal';
    is_deeply $redis->hash('k'), {used => 3, reset => $reset}, 'stored as answered';
    ok $redis->expires_in('k', $period + 1000), 'expires a second after the window';
};

subtest 'an open window' => sub {
    $redis->cmd('PEXPIRE', 'k', 500_000);
    is_deeply charge(4, now => $now + 1000), [7, $reset], 'adds, keeps the reset';
    is_deeply $redis->hash('k'), {used => 7, reset => $reset};
    ok $redis->expires_in('k', 500_000), 'the expiry stays';
    is_deeply charge(1, now => $reset - 1), [8, $reset], 'open one millisecond before its end';
    hold used => 2, reset => $latest;
    is_deeply charge(1, latest => $latest), [3, $latest], 'a reset as late as can be is believed';
};

subtest 'windows that are not counted on' => sub {
    my %resets = (
        'ended this millisecond' => $now, 'ended long ago' => $now - $period, 'past the latest' => $latest + 1,
        'far off' => '9' x 30, empty => '', word => 'soon', exponent => '1.7000036e+12', nan => 'nan', zero => 0,
        hexadecimal => sprintf('0x%x', $reset), fraction => "$reset.5", blank => " $reset", feed => "$reset\n",
        negative => "-$reset",
    );
    my %counts = (word => 'many', fraction => '1.5', empty => '', negative => -100, overflow => '9223372036854775807', large => '999999999999999995');
    my %fields = (
        (map { ("reset: $_" => [used => 9, reset => $resets{$_}]) } keys %resets),
        (map { ("count: $_" => [used => $counts{$_}, reset => $reset]) } keys %counts),
        'count, and no reset: negative' => [used => -100], 'count, and no reset: word' => [used => 'many'],
        'neither, but another field' => [other => 1],
    );
    for my $name (sort keys %fields) {
        hold @{$fields{$name}};
        is_deeply charge(5), [5, $reset], $name;
        my $hash = $redis->hash('k');
        delete $hash->{other};
        is_deeply $hash, {used => 5, reset => $reset}, "$name: stored anew";
        ok $redis->expires_in('k', $period + 1000), "$name: new expiry";
    }
};

subtest 'a count without a reset was charged by increments that found no key' => sub {
    $redis->cmd('DEL', 'k');
    $redis->cmd('HINCRBY', 'k', 'used', 4);
    is_deeply charge(2), [6, $reset], 'it belongs to the window that is opened';
    is_deeply $redis->hash('k'), {used => 6, reset => $reset};
    ok $redis->expires_in('k', $period + 1000), '... which has an expiry';
};

subtest 'a missing count in an open window' => sub {
    hold reset => $reset;
    is_deeply charge(5), [5, $reset];
    is_deeply $redis->hash('k'), {used => 5, reset => $reset};
};

subtest 'a lost expiry' => sub {
    hold used => 1, reset => $now - 1;
    $redis->cmd('PERSIST', 'k');
    charge(1);
    ok $redis->expires_in('k', $period + 1000), 'a new window has one again';
};

subtest 'big numbers are stored digit by digit' => sub {
    $redis->flush;
    charge(1_000_000_000) for 1 .. 3;
    is $redis->hash('k')->{used}, '3000000000';
    hold used => '999999999999', reset => $reset;
    is_deeply charge(1), ['1000000000000', $reset];
    is_deeply $redis->hash('k'), {used => '1000000000000', reset => $reset};
    my $year = 366 * 86_400_000;
    $redis->flush;
    is_deeply charge(1_000_000_000, proposed => $now + $year), [1_000_000_000, $now + $year];
    is $redis->hash('k')->{reset}, '1731622400123', 'a year ahead';
    ok $redis->expires_in('k', $year + 1000), 'its expiry';
    $redis->flush;
    charge(1, proposed => $now + 1);
    ok $redis->expires_in('k', 1001), 'the shortest window';
};

subtest 'a count stops' => sub {
    my $most = '9000000000000000';
    hold used => '8999999999999990', reset => $reset;
    is_deeply charge(5), ['8999999999999995', $reset], 'not before it';
    is_deeply charge(1_000_000_000_000), [$most, $reset], 'a cost that is too much';
    is_deeply charge(1), [$most, $reset], 'the next one';
    is_deeply $redis->hash('k'), {used => $most, reset => $reset};
    ok $redis->expires_in('k', 500_000), '... and the expiry stays';
    hold used => '9000999999999999', reset => $reset;
    is_deeply charge(1), [$most, $reset], 'increments may have passed it';
    is_deeply raise($most, 7), [$most, $reset, 0], 'it is not raised';
    hold used => 5, reset => $reset;
    is_deeply raise($most, 7), [$most, $reset, '8999999999999995'], 'what a failover has lost of it';
    hold used => '8999999999999999';
    is_deeply charge(2), [$most, $reset], 'without a reset';
    $redis->cmd('DEL', 'k');
    is_deeply raise($most, 7), [$most, $reset, $most], 'without a window';
    is_deeply $redis->hash('k'), {used => $most, reset => $reset};
};

subtest 'what a failover has lost' => sub {
    hold used => 4, reset => $reset;
    is_deeply raise(9, 2), [11, $reset, 5], 'the window has what was known of it, and the cost';
    is_deeply $redis->hash('k'), {used => 11, reset => $reset};
    ok $redis->expires_in('k', 500_000), '... and its expiry';
    is_deeply raise(9, 2), [13, $reset, 0], 'it is raised once';
    is_deeply raise(13, 1), [14, $reset, 0], '... and not where it has so much';
    is_deeply raise(0, 1), [15, $reset, 0];
    is_deeply raise(99, 1, $reset - 1), [16, $reset, 0], 'another window is not raised';
    $redis->cmd('DEL', 'k');
    is_deeply raise(9, 2), [11, $reset, 9], 'one that is gone is there again';
    is_deeply $redis->hash('k'), {used => 11, reset => $reset};
    ok $redis->expires_in('k', $period + 1000), '... with its expiry';
    for my $fields ([used => 50, reset => $now], [used => 50, reset => 'soon'], [used => 'many', reset => $reset], [reset => $reset - 1, used => -9], [other => 1]) {
        hold @$fields;
        is_deeply raise(9, 2), [11, $reset, 9], "what is no window: @$fields";
        is $redis->hash('k')->{used}, 11;
    }
    $redis->cmd('DEL', 'k');
    $redis->cmd('HINCRBY', 'k', 'used', 4);
    is_deeply raise(9, 2), [11, $reset, 5], 'a count without a reset is raised';
    $redis->cmd('DEL', 'k');
    $redis->cmd('HINCRBY', 'k', 'used', 12);
    is_deeply raise(9, 2), [14, $reset, 0], '... where it is less';
    $redis->cmd('DEL', 'k');
    $redis->cmd('RPUSH', 'k', 1);
    is_deeply raise(9, 2), [11, $reset, 9, 1], 'another type gives way, and that is said';
    hold used => '999999999999', reset => $reset;
    is_deeply raise('1000000000000', 1), ['1000000000001', $reset, 1], 'big numbers';
    is $redis->hash('k')->{used}, '1000000000001';
};

subtest 'replicas' => sub {
    my $replica = RateLimit::Redis->start(replica_of => $redis);
    $redis->flush;
    charge(2);
    charge(3);
    $replica->wait_synced;
    is_deeply $replica->hash('k'), {used => 5, reset => $reset}, 'follow';
    my $ttl = $replica->cmd('PTTL', 'k');
    ok $ttl > 0 && $ttl <= $period + 1000, 'with the expiry';
    like $replica->ask('EVAL', project_file('lua/charge.lua'), 1, 'k', 1, $now, $reset, $latest), qr/^READONLY|write/i, 'never written to';
};

done;
