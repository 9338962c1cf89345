# Every link between the documents leads to a file and a heading that exist, and every document is linked to.

use RateLimit::Test;

my %text = map { $_ => project_file($_) } documents();
my %anchors = map { my $path = $_; $path => {map { $_ => 1 } headings($text{$path})} } keys %text;
my (@broken, %linked);

# Returns where a link of a document leads, as the path below the project's folder.
sub target ($from, $to) {
    my @parts = split m{/}, $from;
    pop @parts;
    for my $part (split m{/}, $to) {
        $part eq '..' ? pop @parts : push @parts, $part;
    }
    return join '/', @parts;
}

for my $from (sort keys %text) {
    for my $link (RateLimit::Document::without_code($text{$from}) =~ /\]\(([^)\s]+)\)/g) {
        next if $link =~ /^https?:/;
        my ($to, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
        my $path = $to eq '' ? $from : target($from, $to);
        $linked{$path} = 1;
        push @broken, "$from: $link" if !-e $path || (defined $anchor && !$anchors{$path}{$anchor});
    }
}
is_deeply \@broken, [], 'no link is broken';
is_deeply [grep { !$linked{$_} && $_ ne 'README.md' } sort keys %text], [], 'no document stands alone';

is_deeply [headings("# A b\n```\n# no\n```\n## `x` and Y?\n## A b\n")], ['a-b', 'x-and-y', 'a-b-1'],
    'anchors are made as GitHub makes them';

done;
