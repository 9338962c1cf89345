package Bench::Document;

# Puts a run's figures into a document, in the place of those of the run before:
#
#   replace_figures('docs/benchmarks.md', 'make bench', TEXT);
#
# They stand between two lines of their own. Dies, and leaves the document alone, where these are not there once each.

use strict;
use warnings;
use utf8;
use feature 'signatures';

use Exporter 'import';

our @EXPORT = qw(replace_figures);

sub replace_figures ($path, $of, $figures) {
    my ($begin, $end) = map { "<!-- $of: $_ -->\n" } qw(begin end);
    open my $in, '<:utf8', $path or die "$path: $!\n";
    my $text = do { local $/; <$in> };
    for my $line ($begin, $end) {
        my $count = () = $text =~ /^\Q$line\E/mg;
        die "$path has $count lines $line" if $count != 1;
    }
    $figures =~ s/\n*\z/\n/;
    $text =~ s/^\Q$begin\E.*?^(?=\Q$end\E)/$begin$figures/ms or die "$path ends before it begins\n";
    open my $out, '>:utf8', $path or die "$path: $!\n";
    print {$out} $text;
    close $out or die "$path: $!\n";
    return;
}

1;
