# docs/benchmarks.md: a run of "make bench" replaces its own tables and nothing else, each benchmark that writes there has a place,
# and README.md quotes what the tables say.

use utf8;
use lib 'bench/lib';
use RateLimit::Test;
use Bench::Document;

my $benchmarks = project_file('docs/benchmarks.md');
my ($before, $figures, $after) =
    $benchmarks =~ /^(.*^<!-- make bench: begin -->\n)(.*)(^<!-- make bench: end -->\n.*)$/ms;

# The document is read as bytes: "×" is two of them.
my ($at_64) = $figures =~ /^\*\*64 connections\*\*\n\n(.*?)\n\n/ms;
my %in_all  = map { my @cells = split /\s*\|\s*/; ($cells[1] => ($cells[8] =~ /^([\d.]+)/)[0]) } grep { /\d/ } split /\n/, $at_64;
my ($quoted) = project_file('README.md') =~ /^## How fast\n\n(.*?)\n\n/ms;
my %quoted = $quoted =~ /(`check_charge`|`lease`|Lua)\s+(\d\.\d\d)/g;
is_deeply \%quoted,
    {'`check_charge`' => $in_all{'this module'}, '`lease`' => $in_all{'this module, `lease`'}, Lua => $in_all{'the same in Lua'}},
    'README.md quotes the figures of 64 connections';

my $copy = write_text(test_folder() . '/benchmarks.md', $benchmarks);
replace_figures($copy, 'make bench', "a first run, × 1.5\n\n");
replace_figures($copy, 'make bench', "a later run\n");
is read_text($copy), "${before}a later run\n$after", 'a later run replaces an earlier one, and only that';
for my $program (grep { -f } map { glob project_path($_) } 'bench/*', 'bench/simulate/*') {
    my ($of) = read_text($program) =~ /replace_figures\(\$ENV\{DOCUMENT\}, '([^']+)'/ or next;
    ok eval { replace_figures($copy, $of, "figures\n"); 1 }, "$of has its place" or diag $@;
}
write_text($copy, $benchmarks =~ s/^<!-- make bench: end -->\n//mr);
ok !eval { replace_figures($copy, 'make bench', "a run\n"); 1 }, 'without its place it says so';
unlike read_text($copy), qr/a run/, 'and leaves the document alone';

done;
