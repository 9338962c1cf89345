# A module's file that was replaced under a running nginx: a reload goes on with what is loaded, USR2 takes up the new one, with
# new local windows. The log says which version runs.

use RateLimit::Test;

my $version = project_file('VERSION') =~ s/\n//r;
my $text    = read_text(RateLimit::Nginx::module());
my $file    = write_text(test_folder() . '/module.so', $text);
my $upgrade = RateLimit::Upgrade->start(module => $file, server => 'location / { rate_limit_key k; rate_limit 100r/h; }');
my $nginx   = $upgrade->nginx;

my sub versions () { return [read_text($nginx->folder . '/error.log') =~ /rate limit: ngx_http_rate_limit_module (\S+)$/mg] }
my sub shown ()    { return limits($nginx->get('/x'))->{used} }

my $newer = '9' . substr $version, 1;
write_text($file, $text =~ s/(ngx_http_rate_limit_module )\Q$version\E\0/$1$newer\0/r);
is shown(), 1, 'a window opens';
my @before = RateLimit::Process::children_of($upgrade->master);
kill HUP => $upgrade->master;
wait_until { RateLimit::Upgrade::is_gone(@before) } what => 'the reload';
is_deeply versions(), [$version, $version], 'a reload: still the old code';
is shown(), 2, 'and the window';

$upgrade->begin;
is_deeply versions(), [$version, $version, $newer], 'USR2: the new code';
$upgrade->finish;
is shown(), 1, 'and a new window';
is shown(), 2, 'which counts';
is $nginx->count_log(qr/\[(?:warn|error|crit|alert|emerg)\]/), 0, 'without a complaint';
$upgrade->stop;

done;
