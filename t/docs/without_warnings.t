# The configurations that the documents show load without a warning or a notice: conf-examples, and the examples of README.md
# and docs/.

use RateLimit::Test;

sub told ($http) {
    $http =~ s/listen\s+80\b/listen unix:%%DIR%%\/socket/g;
    my ($code, $output) = RateLimit::Nginx->test_config($http);
    return "$code " . join '', grep { /\[\w+\]/ && !/"listen \.\.\. http2" directive is deprecated/ } split /^/, $output;
}

my $listen = 'server { listen unix:%%DIR%%/other;';
for my $path (glob 'conf-examples/*.conf') {
    is told(read_text($path)), '0 ', $path;
}
my $readme = project_file('README.md');
my ($full) = code($readme, 'full example') =~ /^http \{\n(.*?)^\}$/ms;
is told($full), '0 ', 'the full example of README.md';
my $small = code($readme, 'small example');
is told("$listen $small }"), '0 ', 'its small example';

my ($geo, $bypass) = split /^\.\.\.\n/m, code(project_file('docs/reference.md'), 'bypass example');
is told("$geo $listen $bypass $small }"), '0 ', 'the example of rate_limit_bypass in docs/reference.md';

my $recipes = project_file('docs/recipes.md');
is told(code($recipes, $_)), '0 ', "docs/recipes.md, $_" for $recipes =~ /^<!-- (recipe: \w+) -->$/mg;

my $operations = project_file('docs/operations.md');
is told(code($operations, 'switch') . "$listen $small }"), '0 ', 'the switch of docs/operations.md';
my $log = code($operations, 'log example') =~ s{/var/log/nginx}{%%DIR%%}r;
is told("$log $listen $small }"), '0 ', 'its access log';

done;
