package Bench::Simulated;

# The results of simulator runs: tables, drawings, and what must hold in each run.
#
#   my $simulated = Bench::Simulated->new(cells => [{cell => 0, name => TEXT, machines => 1, ...}, ...], published => [WAY, ...],
#       short => 1);                 # runs that are too short to tell what lease holds
#   $simulated->add($cell, \%run);   # a line of "simulate run"
#   $simulated->broken;              # sentences about what did not hold that must hold in each run
#   $simulated->unexpected;          # ... and about leases that hold more back than they were meant to
#   $simulated->text;                # Markdown
#   $simulated->calls_drawing;  $simulated->over_drawing;      # SVG

use v5.36;
use utf8;

use List::Util qw(max sum0);
use Bench::Chart;
use Bench::Figures;

our @ways = qw(check_charge check_charge-fresh-off charge_refund lease);
my %title = (
    'check_charge' => '`check_charge`', 'check_charge-fresh-off' => '`check_charge`, `fresh off`', 'charge_refund' => '`charge_refund`',
    'lease'        => '`lease`');
my @calls = qw(checks_replica checks_primary increments charges repairs refunds reserves);

sub new ($class, %of) { return bless {runs => {}, %of}, $class }

sub add ($self, $cell, $run) { push @{$self->{runs}{$cell}{$run->{way}}}, $run; return }

sub said ($self) { return $self->{short} ? 'simulated, not calibrated' : 'simulated, calibrated at 8' }
sub runs ($self, $cell, $way) { return @{$self->{runs}{$cell->{cell}}{$way} // []} }
sub publishes ($self, $way) { return scalar grep { $_ eq $way } @{$self->{published}} }
sub of_one_key ($self) { return grep { $_->{keys} == 1 } @{$self->{cells}} }
sub of_many_keys ($self) { return grep { $_->{keys} > 1 } @{$self->{cells}} }
sub first ($cell) { return ($cell->{name}, $cell->{machines}, limit_text($cell), $cell->{load} || '–') }

sub limit_text ($cell) { return grouped($cell->{limit}) . ($cell->{period} == 3600 ? ' an hour' : ' a minute') }
sub grouped ($number) { return scalar reverse((reverse $number) =~ s/(\d{3})(?=\d)/$1,/gr) }

sub calls ($run, $phase) {
    my $requests = $run->{"requests_$phase"} or return;
    return sum0(map { $run->{"${_}_$phase"} } @calls) / $requests;
}

sub digits ($number) {
    return '0' if $number == 0;
    return '<0.0001' if $number < 0.0001;
    return sprintf $number < 0.01 ? '%.4f' : $number < 0.1 ? '%.3f' : '%.2f', $number;
}

# Returns the median, the 99th percentile and the worst value.
sub three ($format, @values) {
    my @sorted = sort { $a <=> $b } @values or return '–';
    return sprintf $format, $sorted[0] if $sorted[0] == $sorted[-1];
    return join ' · ', map { sprintf $format, $_ } percentile(0.5, @sorted), percentile(0.99, @sorted), $sorted[-1];
}

sub share ($part, $of) { return $of ? 100 * $part / $of : 0 }

# Charges that were sent and not answered, or died with their worker, are taken for lost: what they are for passed all the same.
sub over ($run) { return max 0, $run->{most_over} + $run->{in_doubt} }

# Other requests may be admitted between the check of a request and the time when its charge is known.
sub most_over ($cell) {
    my $others = $cell->{requests} * $cell->{busiest} * (1 - $cell->{least});
    return $others * ($cell->{cut} + ($cell->{lag_ms} + $cell->{response_ms} + 2) / 1000) + $cell->{machines};
}

sub name_of ($cell) {
    return "cell $cell->{cell} (" . join(', ', $cell->{name} =~ /machine/ ? () : $cell->{name}, "$cell->{machines} machines", limit_text($cell), "load $cell->{load}") . ')';
}

sub broken ($self) {
    my @broken = map { "$_ is further from real machines than 10%: not published" } grep { !$self->publishes($_) } @ways;
    for my $cell (@{$self->{cells}}) {
        for my $way (@ways) {
            my @runs = $self->runs($cell, $way) or next;
            my ($worst) = sort { over($b) <=> over($a) } @runs;
            my $most = $way =~ /^check/ ? most_over($cell) : 0;
            push @broken, sprintf '%s: %s is over the limit by %d, and may be by %.0f (seed %d)', name_of($cell), $way, over($worst), $most, $worst->{seed}
                if over($worst) > $most && !($cell->{faults} && $way =~ /^check/);
        }
    }
    return @broken;
}

sub unexpected ($self) {
    my @more;
    for my $cell (grep { $_->{keys} == 1 && !$_->{faults} && !$self->{short} } @{$self->{cells}}) {
        my $bound = $cell->{machines} >= 100 ? 10 : 1;
        for my $worst (sort { $b->{most_unspent_then} <=> $a->{most_unspent_then} } $self->runs($cell, 'lease')) {
            my $part = share($worst->{most_unspent_then}, $cell->{limit});
            push @more, sprintf '%s: lease holds %.1f%% of the limit elsewhere at the first rejection, not at most %d%% (seed %d)', name_of($cell), $part, $bound,
                $worst->{seed} if $part > $bound;
            last;
        }
    }
    return @more;
}

sub text ($self) {
    my @shown = grep { $self->publishes($_) } @ways;
    return join "\n\n", grep { defined } $self->calls_table(@shown), $self->over_table(@shown), $self->publishes('lease') ? $self->lease_table : undef,
        $self->kinds_table(@shown), $self->keys_table(@shown);
}

# The table compares the real machines with the simulator.
sub calibration_table (@rows) {
    return 'There is no calibration.' if !@rows;
    my @cells = map {
        [$title{$_->{mode}}, $_->{machines}, (map { sprintf '%.4f', $_ } @$_{qw(real_calls simulated_calls)}),
            (map { $_ ? sprintf '%.1f', $_ : 0 } @$_{qw(real_over simulated_over)}), defined $_->{late} ? sprintf '%.1f%%', 100 * $_->{late} : '–', $_->{ok} ? '' : 'further than 10%: not published']
    } @rows;
    return "**Calibration**: real nginx, one worker each, with a primary and a replica on one machine, and the simulator with the same requests. "
        . "Means of the runs. Responses are late where something else keeps the machine busy.\n\n"
        . table(['', 'nginx', 'calls a request', 'simulated', 'over the limit', 'simulated', 'late responses', ''], @cells);
}

my @head = ('', 'machines', 'limit', 'load');

sub calls_table ($self, @shown) {
    my @rows = map {
        my $cell = $_;
        [first($cell), map { calls_cell($self->runs($cell, $_)) } @shown]
    } @{$self->{cells}};
    return '**Calls to Redis a request**, ' . $self->said . ": until a limit is reached / after that; medians.\n\n"
        . table([@head, @title{@shown}], @rows);
}

sub calls_cell (@runs) {
    my @parts;
    for my $phase (qw(until after)) {
        my @calls = grep { defined } map { calls($_, $phase) } @runs;
        push @parts, @calls ? digits(median(@calls)) : '–';
    }
    return join ' / ', @parts;
}

sub over_table ($self, @shown) {
    my @rows = map {
        my $cell = $_;
        [first($cell), scalar $self->runs($cell, $shown[0]), map {
            my @runs = $self->runs($cell, $_);
            my $worst = max 0, map { over($_) } @runs;
            three('%.0f', map { over($_) } @runs) . ($worst > 0 ? sprintf ' (%.2f%%)', share($worst, $cell->{limit}) : '')
        } @shown]
    } @{$self->{cells}};
    return '**Requests over the limit in one window**, ' . $self->said . ": median · 99th percentile · worst (of the limit), over all seeds.\n\n"
        . table([@head, 'seeds', @title{@shown}], @rows);
}

sub lease_table ($self) {
    my @rows = map {
        my $cell = $_;
        my @runs = grep { $_->{reached} } $self->runs($cell, 'lease');
        @runs ? [first($cell),
            three('%.1f', map { share($_->{most_unspent_then}, $cell->{limit}) } @runs),
            three('%.1f', map { $_->{longest_unspent_ms} / 1000 } @runs),
            three('%.2f', map { share($_->{unspent_at_last}, $cell->{limit} * $_->{reached}) } @runs),
            three('%.1f', map { share($_->{unfair}, $_->{rejected}) } @runs)] : ()
    } $self->of_one_key;
    return '**`lease`: what others hold when the first request is rejected**, ' . $self->said . ', in % of the limit; in seconds until the last of it is spent; '
        . "what nobody ever spends, in % of the limit; and the rejections until then, in % of all. Median · 99th percentile · worst.\n\n"
        . table([@head, 'held elsewhere %', 'spent after s', 'never spent %', 'rejected meanwhile %'], @rows);
}

sub kinds_table ($self, @shown) {
    my %kind = (
        checks_replica => 'checks, replica', checks_primary => 'checks, primary', increments => '`HINCRBY`', charges => '`charge.lua`',
        repairs => '`repair.lua`', refunds => '`refund.lua`', reserves => '`reserve.lua`');
    my $cell = $self->find(100, 10_000, 2) or return;
    my @rows = map {
        my @runs = $self->runs($cell, $_);
        my $row  = $title{$_};
        map {
            my $phase = $_;
            ["$row, " . ($phase eq 'until' ? 'until the limit' : 'after it'),
                map { my $call = "${_}_$phase"; digits(median(map { $_->{"requests_$phase"} ? $_->{$call} / $_->{"requests_$phase"} : 0 } @runs)) } @calls]
        } @runs ? qw(until after) : ()
    } @shown;
    return '**By kind**, ' . $self->said . ": commands a request, a hundred machines, 10,000 a minute, load 2; medians.\n\n" . table(['', @kind{@calls}], @rows);
}

sub keys_table ($self, @shown) {
    my @rows = map {
        my $cell = $_;
        map {
            my $way  = $_;
            my @runs = $self->runs($cell, $way);
            my $of = sub ($figure) { map { $_->{$figure} } @runs };
            @runs ? ["$cell->{name}, $cell->{machines} machines, $title{$way}", three('%.0f', $of->('records')), three('%.0f', $of->('windows')),
                three('%.0f', $of->('reached')), three('%.0f', map { $_->{over} } @runs),
                three('%.2f', map { 100 * $_->{mean_primary} } @runs), three('%.2f', map { $_->{busiest_primary} / $_->{mean_primary} } @runs)] : ()
        } @shown
    } $self->of_many_keys;
    return if !@rows;
    return '**Many keys on 16 shards**, ' . $self->said . ": a million keys, each with 5,000 an hour, 3,000 requests a second and machine, on ten machines for a minute and on a hundred for 20 s. "
        . "Primary: its processor, by what a command costs pipelined.\n\n"
        . table(['', 'windows that one machine remembers', 'windows', 'of these reached', 'over in all', 'primary, mean %', 'busiest / mean'], @rows);
}

sub find ($self, $machines, $limit, $load) {
    my ($found) = grep { $_->{machines} == $machines && $_->{limit} == $limit && $_->{load} == $load } $self->of_one_key;
    return $found;
}

sub calls_drawing ($self) {
    my @limits  = ([100, 'orange'], [5000, 'green'], [100_000, 'blue']);
    my $line = sub ($way, $limit, $colour, $name, %more) {
        my @points = map {
            my $cell = $self->find($_, $limit, 2);
            my @values = $cell ? map { calls($_, 'until') // () } $self->runs($cell, $way) : ();
            @values ? [$_, median(@values)] : ()
        } 1, 10, 100;
        return $self->publishes($way) && @points ? {name => $name, colour => $colour, points => \@points, %more} : ();
    };
    my @lines = (
        (map { $line->('check_charge', $_->[0], $_->[1], 'check_charge, ' . limit_name($_->[0]), dash => '6 3') } @limits),
        $line->('charge_refund', 100_000, 'grey', 'charge_refund', dash => '2 3'),
        map { $line->('lease', $_->[0], $_->[1], 'lease, ' . limit_name($_->[0])) } @limits);
    return Bench::Chart::svg(
        title => 'Calls to Redis a request, until the limit is reached', setting => $self->said . '; one key at twice its limit’s rate, medians',
        x => {title => 'machines', at => [1, 10, 100]}, y => {title => 'calls a request', at => [0.0001, 0.001, 0.01, 0.1, 1, 10], log => 1}, lines => \@lines);
}

sub limit_name ($limit) { return grouped($limit) . ($limit == 5000 ? ' an hour' : ' a minute') }

sub over_drawing ($self) {
    my %colour = (
        'check_charge' => ['blue', 'check_charge'], 'check_charge-fresh-off' => ['orange', 'check_charge, fresh off', '6 3'],
        'charge_refund' => ['green', 'charge_refund'], 'lease' => ['purple', 'lease', '2 3']);
    my @lines;
    for my $way (grep { $self->publishes($_) } @ways) {
        my ($colour, $name, $dash) = @{$colour{$way}};
        my @points = map {
            my $cell = $self->find(100, 10_000, $_);
            my @values = $cell ? map { share(over($_), $cell->{limit}) } $self->runs($cell, $way) : ();
            @values ? [$_, median(@values), max(@values)] : ()
        } 0.5, 2, 50;
        push @lines, {name => $name, colour => $colour, dash => $dash, points => \@points} if @points;
    }
    return Bench::Chart::svg(
        title => 'Requests over the limit, in % of it', setting => $self->said . '; 100 machines, one key of 10,000 a minute, medians and (bars) worst',
        x => {title => 'load: times the limit’s rate', at => [0.5, 2, 10, 50]},
        y => {title => '% of the limit', at => [0.01, 0.1, 1, 10], log => 1, format => '%g%%'}, lines => \@lines);
}

1;
