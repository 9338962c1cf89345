# docs/recipes.md: each configuration of the document has a test, and what it quotes of conf-examples stands there.

use RateLimit::Test;

my $recipes = project_file('docs/recipes.md');
my @marks   = $recipes =~ /(<!-- .* -->)?\n```nginx\n/g;
is_deeply [grep { !defined || !/^<!-- (?:recipe: \w+|from conf-examples\/[\w-]+\.conf) -->$/ } @marks], [],
    'each configuration says what tests it';

my $tests = join '', map { read_text($_) } glob 't/recipes/*.t';
for my $name ($recipes =~ /^<!-- recipe: (\w+) -->$/mg) {
    like $tests, qr/'recipe: $name'/, "$name has a test";
}

# Its lines in their order, with others between them.
for my $path ($recipes =~ /^<!-- from (\S+) -->$/mg) {
    my @lines  = grep { length } map { s/^\s+//r } split /\n/, code($recipes, "from $path");
    my $in_it  = join '.*?', map { "^\\s*\Q$_\E\$" } @lines;
    like project_file($path), qr/$in_it/ms, "the lines of $path";
    my $test = $path =~ s{.*/(.*)\.conf}{t/examples/$1.t}r =~ tr/-/_/r;
    ok -f $test, "which $test tests";
}

done;
