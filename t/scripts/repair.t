# lua/repair.lua in a real Redis: it adds nothing, and leaves no key that would block a client for ever.

use RateLimit::Test;

my $redis    = RateLimit::Redis->start;
my $repair   = $redis->script(project_file('lua/repair.lua'));
my $now      = 1_700_000_000_123;
my $period   = 3_600_000;
my $proposed = $now + $period;
my $latest   = $proposed + 60_000;
my $reset    = $now + 1_800_000;

sub repair (%at) { return $redis->ask('EVALSHA', $repair, 1, 'k', $at{now} // $now, $at{proposed} // $proposed, $latest) }

# Stores a key of these fields, with an expiry unless it is undef.
sub hold ($expiry, @fields) { return $redis->hold_only('k', $expiry, @fields) }

# The answer of repair and the window that is stored afterwards agree.
sub repairs_to ($used, $reset, $name) {
    is_deeply repair(), [$used, $reset], $name;
    is_deeply $redis->hash('k'), {used => $used, reset => $reset}, "$name: stored";
    return;
}

subtest 'no key' => sub {
    is_deeply repair(), [0, 0];
    is_deeply [$redis->keys], [], 'and none is made';
};

subtest 'a sound window' => sub {
    for (
        [7, $reset, 'stays'], [0, $reset, 'zero is a count'], [7, $now + 1, 'open one millisecond before its end'],
        [7, $latest, 'a reset as late as can be is believed'],
    ) {
        my ($used, $end, $name) = @$_;
        hold 500_000, used => $used, reset => $end;
        repairs_to $used, $end, $name;
        ok $redis->expires_in('k', 500_000), "$name: with its expiry";
    }
};

subtest 'no expiry' => sub {
    hold undef, used => 7, reset => $reset;
    repairs_to 7, $reset, 'the window stays';
    ok $redis->expires_in('k', $reset - $now + 1000), 'a second after its end';
};

subtest 'no reset, or an impossible one' => sub {
    my %reset = (
        missing => undef, empty => '', word => 'soon', nan => 'nan', negative => "-$reset", exponent => '1.7e+12',
        fraction => "$reset.5", hexadecimal => sprintf('0x%x', $reset), blank => " $reset", feed => "$reset\n",
        long => '9' x 30, late => $latest + 1,
    );
    for my $name (sort keys %reset) {
        for my $expiry (undef, 500_000) {
            hold $expiry, used => 7, defined $reset{$name} ? (reset => $reset{$name}) : ();
            my $title = $name . (defined $expiry ? '' : ', no expiry');
            repairs_to 7, $proposed, $title;
            ok $redis->expires_in('k', $period + 1000), "$title: expires with the proposal";
        }
    }
};

subtest 'a closed window' => sub {
    for my $ended ($now, $now - 1, $now - $period, 0) {
        hold 500_000, used => 7, reset => $ended;
        repairs_to 0, $proposed, 'ended ' . ($now - $ended) . ' ms ago';
        ok $redis->expires_in('k', $period + 1000), 'expires with the proposal';
    }
};

subtest 'a count that is none' => sub {
    for my $used ('', 'many', '-3', '1.5', '1e3', ' 7', "7\n", '007', '9' x 30) {
        hold 500_000, used => $used, reset => $reset;
        repairs_to 0, $reset, "count [" . ($used =~ s{\n}{\\n}r) . "]";
    }
    hold 500_000, reset => $reset;
    repairs_to 0, $reset, 'missing';
    hold 500_000, used => '9000000000000000', reset => $reset;
    repairs_to '9000000000000000', $reset, 'the most is one';
};

subtest 'a bare HINCRBY' => sub {
    $redis->flush;
    $redis->cmd('HINCRBY', 'k', 'used', 1);
    repairs_to 1, $proposed, 'becomes a window';
    ok $redis->expires_in('k', $period + 1000), 'that ends';
};

subtest 'again changes nothing' => sub {
    hold undef, used => 'many';
    my $first = repair();
    is_deeply repair(proposed => $proposed + 5), $first;
};

subtest 'big numbers are stored digit by digit' => sub {
    hold undef, used => '1000000000000';
    repairs_to '1000000000000', $proposed, 'the largest limit';
    is $redis->hash('k')->{reset}, '1700003600123';
};

done;
