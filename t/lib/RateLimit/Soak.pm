package RateLimit::Soak;

# A long run: two nginx of two workers share a Redis, both under load in all modes, and a random fault comes every five seconds, or as soon
# as the one before is healed. All that happens is told as it happens, and a table each minute.
#
#   RateLimit::Soak->run('RateLimit::Soak::Sentinel');         # or ::Cluster; environment: MINUTES, SEED, FAULTS='failover,reload'
#
# Tested on the way: each request is answered as configured, in time; nothing is dropped; a fault loses no more of what is stored than
# Redis may lose by it; errors end when it is healed. Tested in the end, for each mode:
#     admitted - in doubt - unlogged <= executed <= admitted + (reservations and refunds in doubt) + unlogged,
#     executed - (the sum of what Redis may have lost by each fault) <= stored <= executed,
# where executed is what servers have executed, each command once: RateLimit::Soak::Ledger says how that is known. unlogged is what killed
# workers may have charged and not logged, or the other way round. So stored is bounded by admitted, from both sides. Limits are never exceeded
# by more than what was lost or in doubt. Memory and descriptors are flat: one nginx is left alone by all faults of workers, so that these
# grow old.
#
# No window closes while it runs: all are of a day. Faults come in turns of all kinds, each turn in a new order.

use v5.36;

use List::Util qw(max min shuffle sum0);
use POSIX qw(strftime);
use Test::More;
use RateLimit::Folder;
use RateLimit::Soak::Footprint;
use RateLimit::Soak::Journal;
use RateLimit::Soak::Ledger;
use RateLimit::Soak::Load;
use RateLimit::Soak::Workers;
use RateLimit::Traffic;
use RateLimit::Wait;

use constant {
    LEASE => 5, PLENTY => 100_000_000, LIMIT => 20, TIMEOUT => 1, INTERVAL => 5, CONNECTIONS => 2, ROTATION => 20, LIMITED => 5,
    NOISE => 10,      # requests between two looks at counters that go on
    GROWTH => 512,    # KB
};

my @modes = qw(check_charge charge_refund lease);
my @keys  = (1 .. 20);

sub run ($class, $kind, %opt) {
    my $minutes = $ENV{MINUTES} || 30;
    my $seed    = $ENV{SEED} || int rand 1_000_000;
    test_folder();    # its name is drawn, too
    srand $seed;
    $| = 1;
    my $self = bless {kinds => {}, turn => [], limited => [], may_be_lost => {}, gaps => 0, begun => monotonic(), minutes => $minutes}, $class;
    $self->{topology} = $kind->start(windows => [map { ["$_/86400", @keys] } @modes]);
    say sprintf '# soak of %s: %g minutes, SEED=%d', $self->{topology}->name, $minutes, $seed;
    $self->open;
    $self->go_on_for($minutes * 60);
    $self->close;
    return;
}

sub windows () { return map { ("$_/86400", "limited_$_/86400") } @modes }

# A lease takes several tokens at a time.
sub unit ($window) { return $window =~ /lease/ ? LEASE : 1 }

# Sums of what is executed and of what is stored are not asked for in one moment, and lines of MONITOR come a little later.
sub noise ($window) { return NOISE * unit($window) }

sub keys_of ($self, $window) { return $window =~ /^limited/ ? @{$self->{limited}} : @keys }

sub open ($self) {
    my $topology = $self->{topology};
    $self->{ledger} = RateLimit::Soak::Ledger->new(test_folder(), windows());
    $self->{ledger}->follow($_) for $topology->servers;
    my %limits = map { ("limited_$_" => 1) } @modes;
    for my $name (qw(lasting mortal)) {
        my $nginx = RateLimit::Traffic->nginx(
            workers => 2, reuseport => 1, log_level => 'notice', key => '$arg_k', http => $topology->block('check_timeout ' . TIMEOUT . 's;'),
            server => 'rate_limit_store main; rate_limit_headers off; rate_limit_log_level info; log_not_found off; rate_limit_lease ' . LEASE
                . '; rate_limit_exempt_status 404; rate_limit_on_error allow; ' . join '', map { locations($_) } @modes,
        );
        push @{$self->{nginx}}, $nginx;
        my $journal = RateLimit::Soak::Journal->new($nginx, limits => \%limits, patience => patience(TIMEOUT + 1));
        push @{$self->{journals}}, $journal;
        wait_until { $nginx->get("/$_?k=1")->status == 200 } what => 'nginx' for @modes;
    }
    $self->{faults} = RateLimit::Soak::Workers->new($self->{nginx}[1], connections => CONNECTIONS * (1 + @modes));
    $self->{longest} = 0;
    wait_until { $self->recovers(20) } what => 'requests to meet no error';
    $self->load;
    wait_until { $self->recovers(200) } what => 'requests to meet no error';
    wait_until { !grep { $self->{ledger}->opened("$_/86400") < @keys } @modes } what => 'all windows to be opened';
    $topology->heal;
    $self->{pids}       = join ' ', sort $self->{nginx}[0]->workers;
    $self->{footprints} = [map { RateLimit::Soak::Footprint->new($_)->look } @{$self->{nginx}}];
    $self->{baseline}   = $self->missing;
    $self->{opened}     = @keys * @modes;
    $self->{late}       = 0;
    return;
}

# One in five requests is exempt: its status is 404. What is reserved for it is given back.
sub locations ($mode) {
    return "location /$mode { rate_limit @{[PLENTY]}r/d name=$mode mode=$mode; }
        location /free/$mode { rate_limit @{[PLENTY]}r/d name=$mode mode=$mode; }
        location /limited_$mode { rate_limit_on_error deny; rate_limit @{[LIMIT]}r/d name=limited_$mode mode=$mode; }\n";
}

sub load ($self) {
    $self->{loads} = [];
    my @limited = $self->new_limited_keys;
    for my $nginx (@{$self->{nginx}}) {
        for my $mode (@modes) {
            my @uris = map { ("/$mode?k=$_", $_ % 4 ? () : "/free/$mode?k=$_") } @keys;
            push @{$self->{loads}}, RateLimit::Soak::Load->start($nginx, connections => CONNECTIONS, rate => 20, uris => \@uris);
        }
        push @{$self->{limited_loads}}, RateLimit::Soak::Load->start($nginx, connections => CONNECTIONS, rate => 10, uris => \@limited);
    }
    return;
}

# Some whose limits are reached soon; others after a while, for that happens but once a day.
sub new_limited_keys ($self) {
    my $turn = $self->{limited_turn}++;
    $self->{limited_since} = monotonic();
    my @new = map { "$turn-$_" } 1 .. LIMITED;
    push @{$self->{limited}}, @new;
    my @uris = map { my $mode = $_; map { "/limited_$mode?k=$_" } @new } @modes;
    $_->ask(@uris) for @{$self->{limited_loads} // []};
    return @uris;
}

sub sum ($self, $what, @of) { return sum0(map { $_->read->$what(@of) } @{$self->{journals}}) }

sub doubt ($self) {
    my %doubt = map { my $kind = $_; $kind => sum0(map { $_->read->doubt->{$kind} } @{$self->{journals}}) } qw(charges refunds reservations);
    return \%doubt;
}

# Whether so many further requests meet no error.
sub recovers ($self, $requests) {
    my ($before, $errors) = ($self->sum('requests'), $self->sum('errors'));
    if (!$self->{loads}) { $self->{nginx}[$_ % 2]->get("/$modes[$_ % 3]?k=$keys[$_ % 20]") for 1 .. $requests }
    wait_until { $self->sum('requests') >= $before + $requests } timeout => 30, what => "$requests further requests";
    return $self->sum('errors') == $errors;
}

sub wait_recovered ($self) {
    return wait_until { $self->recovers(100) } timeout => 30, what => 'requests to meet no error any more';
}

# Charges that were executed and are not stored, by window: [at least, at most], for requests go on.
sub missing ($self) {
    my %missing;
    for my $window (windows()) {
        my $before = $self->{ledger}->executed($window);
        my $stored = sum0($self->{topology}->stored($window, $self->keys_of($window)));
        $missing{$window} = [$before - $stored, $self->{ledger}->executed($window) - $stored];
    }
    return \%missing;
}

sub clock () { return strftime '%H:%M:%S', localtime }

sub go_on_for ($self, $seconds) {
    my $end     = monotonic() + $seconds;
    my $minutes = 0;
    while (monotonic() < $end) {
        my $begun = monotonic();
        $self->new_limited_keys if $begun - $self->{limited_since} > ROTATION;
        last if !$self->happens($self->next_kind);
        $_->look for @{$self->{footprints}};
        if (monotonic() - $self->{begun} >= 60 * ($minutes + 1)) {
            $minutes = int((monotonic() - $self->{begun}) / 60);
            $self->table;
        }
        my $rest = min($begun + INTERVAL, $end) - monotonic();
        let_pass($rest) if $rest > 0;
    }
    return;
}

sub next_kind ($self) {
    my $turn = $self->{turn};
    if (!@$turn) {
        my %wanted = map { $_ => 1 } split / *, */, $ENV{FAULTS} // '';
        push @$turn, shuffle grep { !%wanted || $wanted{$_->[1]} } map { my $of = $_; map { [$of, $_] } $of->kinds } @$self{qw(topology faults)};
        die "no such fault: $ENV{FAULTS}" if !@$turn;
    }
    return shift @$turn;
}

# False: it is not healed, and nothing more can be learned.
sub happens ($self, $next) {
    my ($of, $kind) = @$next;
    my $reloads = $of == $self->{topology} && rand() < 0.25;
    my $number  = ++$self->{count};
    my ($requests, $errors, $begun) = ($self->sum('requests'), $self->sum('errors'), monotonic());
    my $doubt = sum0(values %{$self->doubt});
    printf "# %s %3d %s%s", clock(), $number, $kind, $reloads ? ', reload' : '';
    $self->{faults}->begin_reload if $reloads;
    my $result = eval {
        my $done = $of->fault($kind, $self->{ledger}, sub { $self->wait_recovered });
        $_->heal for $self->{topology}, $self->{faults};
        $self->wait_recovered;
        $done;
    };
    my $why  = $@;
    my $took = monotonic() - $begun;
    my $seen = $self->{kinds}{$kind} //= {count => 0, took => 0, lost => 0, errors => 0, doubt => 0, longest => 0};
    $seen->{count}++;
    $seen->{took} = max($seen->{took}, $took);
    my %new = (errors => $self->sum('errors') - $errors, doubt => sum0(values %{$self->doubt}) - $doubt);
    $new{lost} = $result ? $self->judge("$number, $kind", $result, %new) : 0;
    $seen->{$_} += $new{$_} for keys %new;
    my $longest = max(map { $_->longest } @{$self->{journals}});
    $self->{longest} = max($self->{longest}, $longest);
    $seen->{longest} = max($seen->{longest}, $longest);
    printf ": %.1f s, %d requests, %d errors, longest %.0f ms, %d in doubt, %d lost; not executed: %s\n", $took,
        $self->sum('requests') - $requests, $new{errors}, 1000 * $longest, $new{doubt}, $new{lost},
        join ' ', map { $self->sum('admitted', $_) - $self->{ledger}->executed("$_/86400") } @modes;
    my @wrong = map { $_->wrong } @{$self->{journals}};
    is_deeply \@wrong, [], "$number, $kind: nothing goes wrong" if @wrong;
    fail("$number, $kind: it heals: $why") if !$result;
    return $result;
}

# How many charges are missing since, at least. Tests whether that may be, and the rest of what may come of a fault. What may be missing
# adds up, but no more of it than was: so what is lost little by little, too little to be seen here, is seen in the end.
sub judge ($self, $name, $result, %new) {
    my ($before, $after, $opened) = ($self->{baseline}, $self->missing, sum0(map { $self->{ledger}->opened("$_/86400") } @modes));
    my $sum = 0;
    for my $window (windows()) {
        my ($least, $most) = ($after->{$window}[0] - $before->{$window}[1], $after->{$window}[1] - $before->{$window}[0]);
        my $may = $result->{lost} + ($result->{former}{$window} // 0) + ($result->{told} ? $new{doubt} * unit($window) : 0);
        fits($most,  '>=', -noise($window), "$name, $window: all that is stored was executed");
        fits($least, '<=', $may + noise($window), "$name, $window: no more is lost than Redis may lose");
        $sum += max(0, $least);
        $self->{may_be_lost}{$window} += min($may, max(0, $most) + noise($window));
    }
    # Requests in doubt are not sent again.
    fits($new{errors}, '<=', $result->{errors} + $new{doubt}, "$name: no request meets an error") if defined $result->{errors};
    fits($result->{late}, '<', patience(1), "$name: workers leave the former primary in time") if defined $result->{late};
    fits($opened, '<=', $self->{opened}, "$name: no window is opened again") if !$result->{anew};
    my $gaps = $self->{ledger}->gaps;
    fits($gaps, '<=', $self->{gaps}, "$name: all that servers execute is seen") if !$result->{gaps};
    $self->{gaps} = $gaps;
    $self->{late} = max($self->{late}, $result->{late} // 0);
    @$self{qw(baseline opened)} = ($after, $opened);
    return $sum;
}

# Silent where it holds: a run has thousands of these.
sub fits ($got, $how, $limit, $what) {
    my $holds = $how eq '<' ? $got < $limit : $how eq '<=' ? $got <= $limit : $got >= $limit;
    cmp_ok($got, $how, $limit, $what) if !$holds;
    return;
}

sub table ($self) {
    my ($doubt, $old, $young) = ($self->doubt, map { $_->last('workers') } @{$self->{footprints}});
    printf "# %s after %d min: %d requests, %d errors, %d faults; in doubt %s; longest %.0f ms\n", clock(), (monotonic() - $self->{begun}) / 60,
        $self->sum('requests'), $self->sum('errors'), $self->{count}, join(', ', map { "$doubt->{$_} $_" } sort keys %$doubt), 1000 * $self->{longest};
    for my $mode (@modes) {
        my ($admitted, $executed) = ($self->sum('admitted', $mode), $self->{ledger}->executed("$mode/86400"));
        printf "#   %-14s %9d admitted %9d executed %6d lost %6d over limits\n", $mode, $admitted, $executed, $self->missing->{"$mode/86400"}[0], $self->over($mode);
    }
    printf "#   workers, old: %d KB of %d, %d files; young: %d KB of %d, %d files\n", map { @$_{qw(memory all files)} } $old, $young;
    return;
}

# By how much limits were exceeded.
sub over ($self, $mode) {
    my %sum;
    for my $journal (@{$self->{journals}}) {
        my $admitted = $journal->read->admitted_of("limited_$mode");
        $sum{$_} += $admitted->{$_} for keys %$admitted;
    }
    return sum0(map { max(0, $_ - LIMIT) } values %sum);
}

sub close ($self) {
    my ($topology, $ledger) = @$self{qw(topology ledger)};
    $_->stop for @{$self->{loads}}, @{$self->{limited_loads}};
    eval { $_->heal for $topology, $self->{faults} };
    eval { wait_until { !$self->waits } timeout => 20, what => 'charges that wait' };
    is join(' ', sort $self->{nginx}[0]->workers), $self->{pids}, 'the workers of the nginx that was left alone are the same';
    for my $nginx (@{$self->{nginx}}) {
        my $begun = monotonic();
        $nginx->stop;
        cmp_ok monotonic() - $begun, '<', patience(5), 'nginx stops in time';
    }
    my $last = -1;
    wait_until { let_pass(0.1); my $sum = sum0(map { $ledger->executed($_) } windows()); my $same = $sum == $last; $last = $sum; $same } what => 'all lines of MONITOR';
    is_deeply [map { $_->read->wrong } @{$self->{journals}}], [], 'nothing goes wrong in the end';
    $self->balance;
    $self->flat;
    $self->summary;
    return;
}

# Whether charges are neither executed nor in doubt. Tokens that are at hand count as executed.
sub waits ($self) {
    my $doubt = sum0(values %{$self->doubt});
    return grep { $_ ne 'lease' && $self->sum('admitted', $_) - $doubt - $self->{faults}->unlogged > $self->{ledger}->executed("$_/86400") } @modes;
}

sub balance ($self) {
    my $doubt     = $self->doubt;
    my $slack     = $self->{faults}->unlogged;
    my $charges   = $doubt->{charges} + $doubt->{reservations};
    my $uncertain = $doubt->{reservations} + $doubt->{refunds};
    my %more      = (check_charge => 0, charge_refund => $uncertain, lease => LEASE * $uncertain);
    my (%sum, %all);
    for my $mode (@modes) {
        my $window = "$mode/86400";
        my %is     = (admitted => $self->sum('admitted', $mode), $self->executed_and_stored($window));
        $all{$mode} = \%is;
        $sum{$_} += $is{$_} for keys %is;
        cmp_ok $is{executed}, '>=', $is{admitted} - $charges - $slack, "$mode: all that was admitted was executed, but for what is in doubt";
        cmp_ok $is{executed}, '<=', $is{admitted} + $more{$mode} + unit($window) * $slack, "$mode: nothing is executed twice";
        cmp_ok $is{stored}, '<=', $is{executed}, "$mode: all that is stored was executed";
        cmp_ok $is{stored}, '>=', $is{executed} - $is{may_be_lost} - noise($window), "$mode: no more is lost than Redis may have lost";
        $self->limits_hold($mode, $charges, $slack);
    }
    cmp_ok $sum{stored}, '>=', $sum{admitted} - $charges - $slack - $sum{may_be_lost} - sum0(map { noise($_) } @modes),
        'all modes: all that was admitted is stored, but for what is in doubt or Redis may have lost';
    $self->{all} = \%all;
    return;
}

sub executed_and_stored ($self, $window) {
    my $executed = $self->{ledger}->executed($window);
    my $stored   = sum0($self->{topology}->stored($window, $self->keys_of($window)));
    return (executed => $executed, stored => $stored, lost => $executed - $stored, may_be_lost => $self->{may_be_lost}{$window} // 0);
}

# In check_charge a machine does not see what waits on the other one while there is no primary.
sub limits_hold ($self, $mode, $doubt, $slack) {
    my $window = "limited_$mode/86400";
    my %is     = $self->executed_and_stored($window);
    my $unseen = $mode eq 'check_charge' ? LIMIT * @{$self->{limited}} : 0;
    cmp_ok $is{stored}, '>=', $is{executed} - $is{may_be_lost} - noise($window), "$mode: no more is lost of limits than Redis may have lost";
    cmp_ok $self->over($mode), '<=', $is{lost} + unit($window) * ($doubt + $slack) + $unseen,
        "$mode: limits are exceeded by no more than what is lost or in doubt";
    return;
}

sub flat ($self) {
    my ($lasting, $mortal) = @{$self->{footprints}};
    for my $of (['the lasting workers', $lasting, 'workers', 0.2, 0.4, 0.8], ['fresh workers', $mortal, 'workers', 0, 0.25, 0.75],
        ['the lasting master', $lasting, 'master', 0.2, 0.4, 0.8], ['the master that reloads', $mortal, 'master', 0.2, 0.4, 0.8]) {
        my ($name, $footprint, $who, $from, $to, $late) = @$of;
        my ($first, $last) = ($footprint->between($from, $to, $who), $footprint->between($late, 1, $who));
        next if !$first || !$last;
        $self->{grown}{$name} = [$first, $last];
        cmp_ok $last->{memory}, '<=', $first->{memory} + GROWTH, "$name: memory is flat";
        cmp_ok $last->{files}, '<=', $first->{files} + NOISE, "$name: descriptors are flat";
    }
    return;
}

sub summary ($self) {
    my $doubt = $self->doubt;
    printf "# in all: %d requests, %d errors, longest %.0f ms, %d faults, in doubt: %s; unlogged: %d at most; former primaries written to for %.2f s; MONITOR began anew %d times\n", $self->sum('requests'),
        $self->sum('errors'), 1000 * max(map { $_->longest_ever } @{$self->{journals}}), $self->{count} // 0,
        join(', ', map { "$doubt->{$_} $_" } sort keys %$doubt), $self->{faults}->unlogged, $self->{late}, $self->{gaps};
    for my $mode (@modes) {
        my $is = $self->{all}{$mode};
        printf "#   %-14s %9d admitted %9d executed %9d stored %6d lost of %d %6d over limits\n", $mode, @$is{qw(admitted executed stored lost may_be_lost)}, $self->over($mode);
    }
    my $format = "#   %-20s %5s %8s %8s %8s %8s %9s\n";
    printf $format, 'fault', 'times', 'longest', 'errors', 'in doubt', 'lost', 'request';
    for my $kind (sort keys %{$self->{kinds}}) {
        my $seen = $self->{kinds}{$kind};
        printf $format, $kind, $seen->{count}, sprintf('%.1f s', $seen->{took}), @$seen{qw(errors doubt lost)}, sprintf '%.0f ms', 1000 * $seen->{longest};
    }
    for my $name (sort keys %{$self->{grown}}) {
        my ($first, $last) = @{$self->{grown}{$name}};
        printf "#   %-24s first %d KB of %d, %d files; last %d KB of %d, %d files\n", $name, map { @$_{qw(memory all files)} } $first, $last;
    }
    return;
}

1;
