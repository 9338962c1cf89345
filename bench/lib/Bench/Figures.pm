package Bench::Figures;

# Medians with their quartiles or intervals, percentiles and Markdown.

use strict;
use warnings;
use utf8;
use feature 'signatures';

use Exporter 'import';

our @EXPORT = qw(median median_interval percentile spread table);

# The values must be sorted. A percentile that falls between two values is interpolated.
sub percentile ($share, @sorted) {
    my $place = $share * $#sorted;
    my ($low, $part) = (int $place, $place - int $place);
    return $sorted[$low] if $part == 0;
    return $sorted[$low] * (1 - $part) + $sorted[$low + 1] * $part;
}

sub median (@values) {
    return percentile(0.5, sort { $a <=> $b } @values);
}

# The 95% interval of the median, whatever the distribution: the k-th value from either end, for the largest k
# that leaves no more than 2.5% beyond each. Nothing of fewer than six values.
sub median_interval (@values) {
    my @sorted = sort { $a <=> $b } @values;
    my ($k, $ways, $sum) = (0, 1, 1);
    while ($sum <= 0.025 * 2**@values) {
        ++$k;
        $ways *= (@values - $k + 1) / $k;
        $sum += $ways;
    }
    return $k == 0 ? () : @sorted[$k - 1, -$k];
}

sub spread ($format, @values) {
    return '–' if !@values;
    my @sorted = sort { $a <=> $b } @values;
    return sprintf "$format ($format–$format)", map { percentile($_, @sorted) } 0.5, 0.25, 0.75;
}

sub table ($header, @rows) {
    return join "\n", (map { '| ' . join(' | ', @$_) . ' |' } $header, ['---', ('--:') x $#$header], @rows), '';
}

1;
