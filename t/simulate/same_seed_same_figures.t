# A seed gives the same runs of the simulator again, another seed gives others; and in all of them what must hold holds.

use RateLimit::Test;

my $root = project_path('.');
my $file = test_folder() . '/runs';

sub runs ($seed, $cells = '0 11 20') {
    my $output = qx{make --no-print-directory -C '$root' simulate-cells QUICK=1 CELLS='$cells' SEED=$seed RUNS='$file' 2>&1};
    is $?, 0, "seeds from $seed" or diag $output;
    return read_text($file);
}

my $runs  = runs(5);
my @lines = split /\n/, $runs;
is @lines, 3 * 4 * 2, 'each cell has been run in each mode with two seeds';
is runs(5), $runs, 'the same seeds give the same again';
my ($first, $other) = map { join '', map { s/\tseed=\d+//r } /^(cell=20\t.*\n)/mg } $runs, runs(7, 20);
isnt $other, $first, 'others do not';

# The first run of a cell in that mode.
sub found ($cell, $way) {
    my ($line) = grep { /^cell=$cell\tway=$way\t/ } @lines;
    return map { split /=/, $_, 2 } split /\t/, $line;
}

my %found = found(11, 'lease');
is $found{admitted}, 10_000, 'a hundred machines admit what the limit allows, and no more';
cmp_ok $found{rejected}, '>', 1000, 'and reject the rest';
cmp_ok $found{busiest_primary}, '>', 0, 'which takes a primary time';

%found = found(11, 'charge_refund');
cmp_ok $found{increments_until} + $found{reserves_until}, '>=', 10_000, 'each admission by charge_refund is a command';
is $found{checks_replica_until} + $found{checks_replica_after}, 0, 'none of which a replica gets';

%found = found(11, 'check_charge-fresh-off');
cmp_ok $found{checks_replica_until} + $found{checks_primary_until}, '>=', 10_000, 'each admission by check_charge is a check, where views are not fresh';
is $found{in_doubt}, 0, 'and the primary gets every charge';

%found = found(20, 'check_charge');
cmp_ok $found{in_doubt}, '>=', 0, 'nor does it get more than that where workers are killed';

done;
