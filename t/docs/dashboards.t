# docs/prometheus/rules.yml and docs/grafana/dashboard.json ask for what there is: each metric, label and value in their expressions
# is of the table in docs/reference.md, and each of its metrics is in the dashboard. Prometheus's own promtool takes each expression,
# and finds that alerts fire when they must and not before.

use RateLimit::Test;
use JSON::PP;

my %metric;    # name => {type => ..., labels => {name => [values] or []}}
my ($section) = project_file('docs/reference.md') =~ /^## Metrics\n(.*?)(?=^## |\z)/ms or die 'no metrics in docs/reference.md';
for my $row ($section =~ /^(\| `.*)$/mg) {
    my (undef, $names, $type, $labels) = map { s/^\s+|\s+$//gr } split /\|/, $row;
    my %labels = map { /^`(\w+)`(?: \((.*)\))?/ ? ($1 => [split /, /, $2 // '']) : () } $labels =~ /`\w+`(?: \([^)]*\))?/g;
    $metric{"nginx_rate_limit_$_"} = {type => $type, labels => \%labels} for $names =~ /`(\w+)`/g;
}
cmp_ok scalar(keys %metric), '>', 20, 'the table has metrics';
is_deeply [grep { !$metric{"nginx_rate_limit_$_"} } map { /\bfamily\("(\w+)"/g } sources_with(qr/MetricsText/)], [], 'and all that the module writes';

# Returns the metric that an expression calls by this name, with its labels: a histogram has several series.
sub named ($series) {
    return $metric{$series} if $metric{$series} && $metric{$series}{type} ne 'histogram';
    my ($base, $end) = $series =~ /^(\w+)_(bucket|sum|count)$/ or return undef;
    my $histogram = $metric{$base};
    return undef if !$histogram || $histogram->{type} ne 'histogram';
    return {labels => {%{$histogram->{labels}}, $end eq 'bucket' ? (le => []) : ()}};
}

# Returns what is wrong with an expression, and with the labels that its words ({{label}}) name.
my @of_prometheus = qw(job instance);
sub wrong_in ($expression, $words = '') {
    my (@wrong, %labels);
    my $outside = $expression =~ s/"[^"]*"//gr;
    for my $series ($outside =~ /\b(nginx_rate_limit_\w+)/g) {
        my $found = named($series);
        push @wrong, "no metric $series" if !$found;
        $labels{$_}++ for @of_prometheus, keys %{($found // {})->{labels} // {}};
    }
    while ($expression =~ /(nginx_rate_limit_\w+)\{((?:[^"{}]|"[^"]*")*)\}/g) {
        my ($series, $matchers) = ($1, $2);
        my $known = (named($series) // {})->{labels} // next;
        while ($matchers =~ /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g) {
            my ($label, $value) = ($1, $3);
            next if grep { $_ eq $label } @of_prometheus;
            push @wrong, "$series has no label $label" if !$known->{$label};
            my @values = @{$known->{$label} // []} or next;
            for my $one (split /\|/, $value) {
                push @wrong, "no $label of $series is $one" if !grep { /^(?:$one)$/ } @values;
            }
        }
    }
    my @named = map { split /\s*,\s*/ } $outside =~ /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
    push @named, $words =~ /\{\{\s*(?:\$labels\.)?([a-z]\w*)\s*\}\}/g;
    push @wrong, map { "no label $_" } grep { !$labels{$_} } @named;
    return @wrong;
}

# Each query of the dashboard, its variables as Grafana fills them in.
my $dashboard = decode_json(project_file('docs/grafana/dashboard.json'));
my @panels    = @{$dashboard->{panels}};
my @asked     = map { my $panel = $_; map { {title => $panel->{title}, expr => $_->{expr}, words => $_->{legendFormat} // ''} } @{$panel->{targets} // []} } @panels;
my @variables = grep { $_->{type} eq 'query' } @{$dashboard->{templating}{list}};
my %variable  = map { $_->{name} => 1 } @{$dashboard->{templating}{list}};
for my $variable (@variables) {
    my ($series, $label) = $variable->{query}{query} =~ /^label_values\((\w+), (\w+)\)$/ or fail("the variable $variable->{name} is asked for");
    push @asked, {title => "variable $variable->{name}", expr => $series, words => "{{$label}}"};
}
cmp_ok scalar @asked, '>', 20, 'the dashboard asks';
is_deeply [wrong_in($_->{expr}, $_->{words})], [], "dashboard: $_->{title}" for @asked;
is_deeply [grep { !$variable{$_} && $_ ne '__rate_interval' } map { /\$\{?(\w+)/g } map { $_->{expr} } @asked], [], 'its variables are defined';
my $all = join "\n", map { $_->{expr} } @asked;
is_deeply [grep { $all !~ /\b\Q$_\E(?:_bucket)?\b/ } sort keys %metric], [], 'it shows each metric';
my %seen;
is_deeply [grep { $seen{$_}++ } map { $_->{id} } @panels], [], 'each panel has an id of its own';

my $rules  = project_file('docs/prometheus/rules.yml');
my @alerts = split /^(?= +- alert: )/m, $rules;
shift @alerts;
my @names;
for my $alert (@alerts) {
    my ($name, $expression) = $alert =~ /^ +- alert: (\w+)\n +expr: (?:\|\n)?(.*?)(?=^        \w+:)/ms or fail('a rule is an alert') && next;
    push @names, $name;
    is_deeply [wrong_in($expression, $alert)], [], "alert: $name";
    unlike join('', $alert =~ /\$labels\.(\w+)/g), qr/^$/, '... says where';
}
is_deeply [grep { project_file('docs/prometheus/rules_test.yml') !~ /alertname: $_\b/ } @names], [], 'each alert is tested';
my $operations = project_file('docs/operations.md');
is_deeply [grep { $operations !~ /`$_`/ } @names], [], 'and stands in docs/operations.md';

is_deeply [wrong_in('sum by (shard) (nginx_rate_limit_requests_total{outcome="refused", key="x"}) / nginx_rate_limit_nodes', '{{node}}')],
    ['no metric nginx_rate_limit_nodes', 'no outcome of nginx_rate_limit_requests_total is refused',
    'nginx_rate_limit_requests_total has no label key', 'no label shard', 'no label node'], 'what is wrong is found';

SKIP: {
    chomp(my $promtool = qx{sh -c 'command -v promtool'});
    skip 'no promtool: make deps GROUPS=prometheus', 2 if !$promtool;
    my $folder = test_folder();
    my @filled = map { $_->{expr} =~ s/\$__rate_interval/5m/gr =~ s/\$\{?\w+\}?/.*/gr } @asked;
    write_text("$folder/dashboard.yml", "groups:\n- name: dashboard\n  rules:\n"
        . join '', map { "  - record: expression_$_\n    expr: " . encode_json([$filled[$_]]) =~ s/^\[|\]$//gr . "\n" } keys @filled);
    my $said = qx{promtool check rules '$folder/dashboard.yml' 2>&1};
    is $?, 0, 'promtool takes each expression of the dashboard' or diag $said;
    my $tests = project_path('docs/prometheus/rules_test.yml');
    $said = qx{promtool test rules '$tests' 2>&1};
    is $?, 0, 'and the alerts' or diag $said;
}

done;
