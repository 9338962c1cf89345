# README.md: its full example runs, and what it documents is what the module has: directives, those of the store, variables.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use RateLimit::Test;
use RateLimit::Example;

my $readme = project_file('README.md');

sub words ($text, $pattern) { my %seen; return sort grep { !$seen{$_}++ } $text =~ /$pattern/g }

# The section of one directive, and what it must say.
sub documents ($heading, $directive, $context) {
    my ($section) = $readme =~ /^$heading \Q$directive\E\n\n(.*?)(?=^#)/ms or return fail("$directive is documented");
    my $right = $section =~ /^> \*\*Syntax:\*\* `\Q$directive\E .*[;}]`\\\n(?:> .*\\\n)*> \*\*Default:\*\* (?:—|`\Q$directive\E .+;`)/m;
    return ok $right && (!$context || $section =~ /^> \*\*Context:\*\* $context$/m), "$directive: syntax, default, context";
}

my $module = project_file('src/ngx/module.cpp');
my ($table) = $module =~ /ngx_command_t commands\[\] = \{(.*?)ngx_null_command/s;
my %contexts = map { /^\("(\w+)"\), (anywhere|NGX_HTTP_MAIN_CONF)/ ? ($1 => $2) : () } split /ngx_string/, $table;
is_deeply [sort(words($readme, qr/^### (rate_limit\w*)$/m))], [sort keys %contexts],
    'the directives of the README are those of the module';
for my $directive (sort keys %contexts) {
    documents('###', $directive, $contexts{$directive} eq 'anywhere' ? '`http`, `server`, `location`' : '`http`');
}
my $redis = project_file('src/ngx/conf/redis_block.cpp');
my @block = words($redis, qr/directive == "(\w+)"/);
is_deeply [words($readme, qr/^#### (\w+)$/m)], \@block, 'so are those of the store';
documents('####', $_, '') for @block;
my ($planned) = $readme =~ /### Not available yet\n\n(.*?)\n\n\n/s;
my ($later) = $redis =~ /not_available\[\] = \{(.*?)\}/s;
is_deeply [grep { $planned !~ /`$_`/ } words($later, qr/"(\w+)"/)], [], 'and the store directives that are not available yet';

my $variables = project_file('src/ngx/request/variables.cpp');
is_deeply [words($readme, qr/^\| `\$(\w+)` \|/m)], [words($variables, qr/ngx_string\("(\w+)"\)/)], 'so are the variables';

# The defaults are those that the module has: written out, they change nothing.
my $written = join ' ', map { "$_;" } grep { /^rate_limit/ } $readme =~ /^> \*\*Default:\*\* `(.+);`/mg;
my $inside  = join ' ', map { "$_;" } grep { !/^rate_limit/ } $readme =~ /^> \*\*Default:\*\* `(.+);`/mg;
my ($code, $output) = RateLimit::Nginx->test_config("rate_limit_redis main { shard a primary=127.0.0.1:1; $inside } $written");
is $code, 0, 'all defaults are valid' or diag $output;

my ($example) = $readme =~ /<!-- full example -->\n```nginx\n(.*?)```/s;
my $shards = RateLimit::Shards->start(2, replicas => 2);
my @nodes  = $shards->all;
$example =~ s/^load_module .*\n//m or fail('load_module');
$example =~ s/10\.0\.0\.(\d):6379/$nodes[$1 - 1]->address/ge;
$example =~ s/listen 80;/listen 127.0.0.1:%%PORT%%;/ or fail('listen');
$example =~ s{root   /var/www/html;}{root %%DIR%%/html;} or fail('root');
$example =~ s/worker_processes auto;/worker_processes 1;/ or fail('worker_processes');
$example =~ s/http \{\n/http {\n%%HTTP%%\n/;
my $nginx = RateLimit::Nginx->start(conf => $example);
is_deeply [@{limits($nginx->get('/x'))}{qw(limit used resource)}], [60, 1, 'core'], 'the example: an address';
is_deeply [@{limits($nginx->get('/x', 'X-API-Key' => 'k-mona'))}{qw(limit used resource)}], [5000, 1, 'core'], 'a known key';
is_deeply [@{limits($nginx->get('/search/x'))}{qw(limit resource)}], [30, 'search'], 'two limits';
is_deeply limits($nginx->get('/status/x')), {}, 'and none';
wait_until { $shards->find('rl:core/3600:user:mona') } what => "mona's window, under the key that the README shows";

done;
