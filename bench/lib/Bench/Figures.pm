package Bench::Figures;

# Medians with their quartiles, percentiles and Markdown.

use strict;
use warnings;
use utf8;
use feature 'signatures';

use Exporter 'import';

our @EXPORT = qw(median percentile spread table);

# Of sorted values, between neighbours where it falls between two.
sub percentile ($share, @sorted) {
    my $place = $share * $#sorted;
    my ($low, $part) = (int $place, $place - int $place);
    return $sorted[$low] if $part == 0;
    return $sorted[$low] * (1 - $part) + $sorted[$low + 1] * $part;
}

sub median (@values) {
    return percentile(0.5, sort { $a <=> $b } @values);
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
