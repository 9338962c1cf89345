package RateLimit::Document;

# The texts of the documents, for tests that compare them with what the module does.
#
#   documents();                          # ('README.md', 'docs/reference.md', ...): paths below the project's folder
#   code(TEXT, 'acl');                    # the code block right after <!-- acl -->; dies when there is none
#   headings(TEXT);                       # the anchors that GitHub makes of a document's headings
#   sources_with(qr/.../);                # the texts of the files below src that match

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use File::Find qw(find);
use File::Spec;
use RateLimit::Folder;

our @EXPORT = qw(documents code headings sources_with);

my $root = File::Spec->rel2abs(__FILE__) =~ s{/t/lib/RateLimit/Document\.pm$}{}r;

sub documents () { return map { substr $_, 1 + length $root } sort glob "$root/*.md $root/docs/*.md $root/docs/*/*.md $root/t/*/README.md" }

sub code ($text, $mark) {
    my ($code) = $text =~ /^<!-- \Q$mark\E -->\n```\w*\n(.*?)^```$/ms or croak "no code block after <!-- $mark -->";
    return $code;
}

sub without_code ($text) { return $text =~ s/^```.*?^```$//gmsr }

# Code in a heading is plain text; what is neither a word, a space nor a hyphen goes; a second heading of a name has -1.
sub headings ($text) {
    my (%seen, @anchors);
    for my $heading (without_code($text) =~ /^#+ +(.*)$/mg) {
        my $anchor = lc $heading =~ s/[^\w\s-]//gr =~ s/ /-/gr;
        push @anchors, $seen{$anchor}++ ? "$anchor-" . ($seen{$anchor} - 1) : $anchor;
    }
    return @anchors;
}

sub sources_with ($pattern) {
    my @texts;
    find({no_chdir => 1, wanted => sub { push @texts, grep { /$pattern/ } read_text($_) if /\.(?:cpp|h)$/ }}, "$root/src");
    return @texts;
}

1;
