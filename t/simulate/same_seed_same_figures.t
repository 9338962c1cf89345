# A seed gives the same runs of the simulator again, another seed gives others; and in all of them what must hold holds.

use RateLimit::Test;

my $root = project_path('.');
my $file = test_folder() . '/runs';

sub runs ($seed) {
    my $output = qx{make --no-print-directory -C '$root' simulate-cells QUICK=1 CELLS='0 11 20' SEED=$seed RUNS='$file' 2>&1};
    is $?, 0, "seeds from $seed" or diag $output;
    return read_text($file);
}

my $runs  = runs(5);
my @lines = split /\n/, $runs;
is @lines, 3 * 4 * 2, 'each cell has been run in each mode with two seeds';
is runs(5), $runs, 'the same seeds give the same again';
isnt runs(7), $runs, 'others do not';
my ($lease) = grep { /^cell=11\tway=lease\t/ } @lines;
my %found = map { split /=/, $_, 2 } split /\t/, $lease;
is $found{admitted}, 10_000, 'a hundred machines admit what the limit allows, and no more';
cmp_ok $found{rejected}, '>', 1000, 'and reject the rest';

done;
