# A module's file that was replaced under a running nginx: a reload goes on with what is loaded, USR2 takes up the new one, with
# new local windows. The log says which version runs.

use RateLimit::Test;

my $version = project_file('VERSION') =~ s/\n//r;
my $text    = read_text(RateLimit::Nginx::module());
my $file    = write_text(test_folder() . '/module.so', $text);

# nginx takes USR2 only where the process that started it has left, as it has with "daemon on". What stays is in its group.
# nginx hands no environment to its successor but what it is told.
my $nginx = RateLimit::Nginx->create(
    env => {map { $_ => 1 } qw(ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS)}, module => $file, server => 'location / { rate_limit_key k; rate_limit 100r/h; }');
my $pid_file = $nginx->folder . '/nginx.pid';
my $start    = '( "$@" & until [ -s nginx.pid ]; do sleep 0.02; done ); exec sleep 600';
$nginx->{process} = RateLimit::Process->start(
    command => ['sh', '-c', "cd '" . $nginx->folder . "' && $start", 'sh', $nginx->command], name => 'nginx',
    output => $nginx->folder . '/output');

sub master () { return (read_text($pid_file) =~ /^(\d+)$/m)[0] // 0 }

sub is_gone (@pids) { return !grep { RateLimit::Process::state_of($_) =~ /[^Z]/ } @pids }

sub versions () { return [read_text($nginx->folder . '/error.log') =~ /rate limit: ngx_http_rate_limit_module (\S+)$/mg] }

sub shown () { return limits($nginx->get('/x'))->{used} }

wait_until { master() && RateLimit::Process::children_of(master()) } what => 'nginx';
my $old   = master();
my $newer = '9' . substr $version, 1;
write_text($file, $text =~ s/(ngx_http_rate_limit_module )\Q$version\E\0/$1$newer\0/r);
is shown(), 1, 'a window opens';
my @before = RateLimit::Process::children_of($old);
kill HUP => $old;
wait_until { is_gone(@before) } what => 'the reload';
is_deeply versions(), [$version, $version], 'a reload: still the old code';
is shown(), 2, 'and the window';

kill USR2 => $old;
wait_until { master() && master() != $old && RateLimit::Process::children_of(master()) } what => 'a new master';
is_deeply versions(), [$version, $version, $newer], 'USR2: the new code';
kill QUIT => $old;
wait_until { is_gone($old) } what => 'the old master to leave';
is shown(), 1, 'and a new window';
is shown(), 2, 'which counts';
is $nginx->count_log(qr/\[(?:warn|error|crit|alert|emerg)\]/), 0, 'without a complaint';

my $new = master();
kill QUIT => $new;
wait_until { is_gone($new) } what => 'nginx to leave';
$nginx->{process}->kill;

done;
