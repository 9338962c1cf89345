# The module says its version: in its file, stripped or not, and in the error log at each start and reload, not in a test of
# the configuration.

use RateLimit::Test;

my ($version) = project_file('VERSION') =~ /^(\d+\.\d+\.\d+)\n\z/;
ok $version, 'VERSION is one';
like project_file('CHANGELOG.md'), qr/^## \[Unreleased\]\n/m, 'CHANGELOG.md has a place for what comes';
like project_file('CHANGELOG.md'), qr/^## \[\Q$version\E\] - \d{4}-\d\d-\d\d\n/m, 'and says what is new in this version';

my $module   = RateLimit::Nginx::module();
my $stripped = test_folder() . '/stripped.so';
is system('strip', '--strip-unneeded', '-o', $stripped, $module), 0, 'strip';
like read_text($_), qr/ngx_http_rate_limit_module \Q$version\E\0/, "in $_" for $module, $stripped;
cmp_ok -s $stripped, '<', -s $module, 'of which one is smaller';

sub announced ($nginx) {
    my $text = read_text($nginx->folder . '/error.log');
    return [$text =~ /\[notice\] (\d+)#\d+: rate limit: ngx_http_rate_limit_module (\S+)$/mg];
}

my $nginx = RateLimit::Nginx->start(module => $stripped, workers => 2, server => '');
my @once  = ($nginx->pid, $version);
is_deeply announced($nginx), [@once], 'at the start, once, by the master';
$nginx->reload;
is_deeply announced($nginx), [@once, @once], 'at a reload';
$nginx->kill_worker;
is_deeply announced($nginx), [@once, @once], 'not for a new worker';

my ($code, $output) = RateLimit::Nginx->test_config(http => '');
is $code, 0, 'a test of a configuration';
unlike join('', $output, map { read_text($_) } glob test_folder() . '/*/error.log'), qr/\Q$version\E.*\Q$version\E.*\Q$version\E/s,
    'writes none';

done;
