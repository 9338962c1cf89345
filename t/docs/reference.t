# docs/reference.md: what it documents is what the module has, and the defaults are the module's: directives, those of the
# store, variables.

use RateLimit::Test;

my $reference = project_file('docs/reference.md');

sub words ($text, $pattern) { my %seen; return sort grep { !$seen{$_}++ } $text =~ /$pattern/g }

# The section of one directive, and what it must say.
sub documents_directive ($heading, $directive, $context) {
    my ($section) = $reference =~ /^$heading \Q$directive\E\n\n(.*?)(?=^#)/ms or return fail("$directive is documented");
    my $right = $section =~ /^> \*\*Syntax:\*\* `\Q$directive\E(?: .*[;}]|;)`\\\n(?:> .*\\\n)*> \*\*Default:\*\* (?:—|`\Q$directive\E .+;`)/m;
    return ok $right && (!$context || $section =~ /^> \*\*Context:\*\* $context$/m), "$directive: syntax, default, context";
}

my ($table)  = map { /ngx_command_t commands\[\] = \{(.*?)ngx_null_command/s } sources_with(qr/ngx_command_t commands\[\] =/);
my %contexts = ((map { $_ => 'anywhere' } $table =~ /anywhere\("(\w+)"/g), $table =~ /ngx_string\("(\w+)"\),\s+(NGX_HTTP_(?:MAIN|LOC)_CONF)/g);
is_deeply [words($reference, qr/^### (rate_limit\w*)$/m)], [sort keys %contexts], 'the directives are those of the module';
for my $directive (sort keys %contexts) {
    my $context = {anywhere => '`http`, `server`, `location`', NGX_HTTP_MAIN_CONF => '`http`', NGX_HTTP_LOC_CONF => '`location`'}->{$contexts{$directive}};
    documents_directive('###', $directive, $context);
}

# nginx itself says what a store takes.
my (undef, $told) = RateLimit::Nginx->test_config('rate_limit_redis main { nothing 1; }');
my ($takes) = $told =~ /unknown directive "nothing" in "rate_limit_redis": it takes (.*) in /;
my @block = words($takes // '', qr/(\w+)(?=,| and |$)/);
is_deeply [words($reference, qr/^#### (\w+)$/m)], \@block, 'so are those of the store';
documents_directive('####', $_, '') for @block;

my @names = map { /(?:ngx_string|changing)\("(rate_limit_\w+)"/g } sources_with(qr/ngx_http_variable_t \w+\[\] =/);
is_deeply [words($reference, qr/^\| `\$(\w+)` \|/m)], [words("@names", qr/(\w+)/)], 'so are the variables';

# Written out, the defaults change nothing; those of TLS beside the "ssl on" that they need.
my @defaults = map { "$_;" } $reference =~ /^> \*\*Default:\*\* `(.+);`/mg;
my $inside   = join ' ', grep { !/^(?:rate_limit|ssl_)/ } @defaults;
my $of_tls   = join ' ', grep { /^ssl_/ } @defaults;
my $outside  = join ' ', grep { /^rate_limit/ } @defaults;
for my $lines ($inside, "ssl on; $of_tls") {
    my ($code, $output) = RateLimit::Nginx->test_config("rate_limit_redis main { shard a primary=127.0.0.1:1; $lines } $outside");
    is $code, 0, "valid defaults: $lines" or diag $output;
}

done;
