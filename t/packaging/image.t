# The image of make image starts as nginx's official image does, as a user without rights: it runs what lies in /docker-entrypoint.d, makes
# configurations of templates, loads the module, limits, logs to its standard output, and ends gracefully. Its root may be read-only.
# nightly

use RateLimit::Test;
use JSON::PP;

my %needed = (package => [qw(dh fakeroot lowdown)], image => [qw(mmdebstrap umoci)]);
for my $group (sort keys %needed) {
    my @missing = grep { !qx{sh -c 'command -v $_'} } @{$needed{$group}};
    plan skip_all => "no @missing: make deps GROUPS='build $group'" if @missing;
}
plan skip_all => 'this system is not Debian' if (read_text('/etc/os-release') // '') !~ /^ID=debian$/m;
plan skip_all => 'not root' if $> != 0;
plan skip_all => 'no mounts of its own' if system('unshare --mount true 2>/dev/null') != 0;

my $root = project_path('.');
my $said = qx{make --no-print-directory -C '$root' image 2>&1};
is $?, 0, 'make image' or diag $said;
my ($archive) = $said =~ m{^made (\S+/nginx-rate-limit-[\d.]+\.tar), \d+ MB}m or BAIL_OUT('no image');
my $version = project_file('VERSION') =~ s/\s+//gr;
cmp_ok -s $archive, '<', 100e6, 'it is small';
diag $said =~ /^made \S+, (.*)/m;

my $folder = test_folder();
mkdir "$folder/layout" or die $!;
my $image = "$folder/layout:nginx-rate-limit:$version";
is system("tar -C '$folder/layout' -xf '$archive' && umoci unpack --image '$image' '$folder/bundle'"), 0, 'it is an image layout with this name';
my $inside = "$folder/bundle/rootfs";
my $config = decode_json(read_text("$folder/bundle/config.json"));
my $process = $config->{process};
is_deeply [$process->{user}{uid}, $process->{user}{gid}], [101, 101], 'not root';
is_deeply $process->{args}, ['/docker-entrypoint.sh', 'nginx', '-g', 'daemon off;'], 'what it starts';
is $config->{annotations}{'org.opencontainers.image.stopSignal'}, 'SIGQUIT', 'how it is stopped';
is $config->{annotations}{'org.opencontainers.image.exposedPorts'}, '8080/tcp', 'its port';
is qx{find $inside/var/lib/apt/lists $inside/var/cache/apt $inside/usr/share/man -type f -size +0}, '', 'nothing of apt is left, and no manuals';
is qx{find $inside -xdev -name 'libnginx-mod*' -path '*/info/*.list' | wc -l} + 0, 1, 'no other module of nginx';

# Runs the image as a container engine would, with no namespace but that of mounts. MOUNTS: a shell's commands, where $root is the
# image's root.
sub container ($name, %opt) {
    my $output = write_text("$folder/$name.out", '');
    chmod 0666, $output or die $!;
    my $mounts = <<~'SH' . ($opt{mounts} // '');
        root=$1 && shift
        mount --make-rprivate / && mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount -t tmpfs -o mode=755 dev "$root/dev"
        for file in null zero random urandom; do touch "$root/dev/$file"; mount --bind "/dev/$file" "$root/dev/$file"; done
        ln -s /proc/self/fd/1 "$root/dev/stdout" && ln -s /proc/self/fd/2 "$root/dev/stderr"
        SH
    my @env = (@{$process->{env}}, map { "$_=$opt{env}{$_}" } sort keys %{$opt{env}});
    return RateLimit::Process->start(name => $name, output => $output, command => ['unshare', '--mount', 'sh', '-euc',
        qq{$mounts\nexec chroot --userspec=101:101 --groups= "\$root" env -i "\$@"}, 'sh', $inside, @env, @{$opt{args} // $process->{args}}]);
}
sub output ($name) { return read_text("$folder/$name.out") }
my $read_only = "mount -t tmpfs -o mode=1777 tmp \$root/tmp; mount -o remount,bind,ro \$root\n";

my $tried = container('tried', mounts => $read_only, args => ['/docker-entrypoint.sh', 'nginx', '-t']);
ok $tried->wait(30), 'nginx -t ends';
is $tried->status, 0, 'its own configuration is right, and needs nothing but /tmp' or diag output('tried');

# This configuration names neither a pid file nor temporary folders.
write_text("$inside/own.conf", 'load_module modules/ngx_http_rate_limit_module.so; events {} http { rate_limit_key x; server { listen 8080; rate_limit 1r/s; } }');
my $own = container('own', args => ['/docker-entrypoint.sh', 'nginx', '-t', '-c', '/own.conf']);
ok $own->wait(30), 'nginx -t ends';
is $own->status, 0, '... and another configuration is right' or diag output('own');
unlike output('own'), qr/\[(?:alert|crit|emerg)\]/, '... and can be used without rights';

# The templates are mounted in the same way as a ConfigMap.
my $templates = "$inside/etc/nginx/templates";
mkdir "$templates/..data" or die $!;
write_text("$templates/..data/default.conf.template", <<~'END');
    server {
        listen 127.0.0.1:${MY_PORT};
        rate_limit_key one;
        location = /name { return 200 "$host ${MY_NAME}"; }
        location = /running { proxy_pass http://127.0.0.1:${MY_BACKEND}; }
        location / { rate_limit ${MY_RATE}; add_header X-Order "${MY_ORDER}"; alias /usr/share/nginx/html/; }
    }
    END
symlink '..data/default.conf.template', "$templates/default.conf.template" or die $!;
my %script = (
    '2-first.envsh'  => [0755, "export MY_ORDER=\$MY_ORDER-first\n"],
    '10-next.envsh'  => [0755, "export MY_ORDER=\$MY_ORDER-next MY_RATE=3r/h\n"],
    '11-not.envsh'   => [0644, "export MY_ORDER=\$MY_ORDER-not\n"],
    '30-says.sh'     => [0755, "#!/bin/sh\necho rate \$MY_RATE, \$(cat /etc/nginx/conf.d/default.conf | wc -l) lines\n"],
);
for my $name (keys %script) {
    write_text("$inside/docker-entrypoint.d/$name", $script{$name}[1]);
    chmod $script{$name}[0], "$inside/docker-entrypoint.d/$name" or die $!;
}

my $backend = RateLimit::Backend->start;
my $port = free_port();
my %env = (MY_PORT => $port, MY_BACKEND => $backend->port, MY_NAME => "two\nPATH2=x words", MY_ORDER => 0, host => 'wrong', NGINX_ENVSUBST_FILTER => '^MY_');
my sub answers () { return eval { RateLimit::HTTP->new(port => $port) } }
my sub get ($uri) { return RateLimit::HTTP->new(port => $port)->get($uri) }

my $nginx = container('writable', env => \%env);
wait_until { answers() || !$nginx->alive } what => 'nginx', timeout => 30;
ok $nginx->alive, 'nginx runs' or diag output('writable');
my ($uids) = read_text('/proc/' . $nginx->pid . '/status') =~ /^Uid:\s+(.*)/m;
like $uids, qr/^101\s+101\s+101/, '... as the user of the image';
my @answers = map { get("/?$_") } 1 .. 5;
is_deeply [map { $_->status } @answers], [200, 200, 200, 429, 429], 'it limits as a variable of the environment says';
is $answers[0]->header('X-Order'), '0-first-next', 'scripts were read by number, those that are executable';
is get('/name')->body, "localhost $env{MY_NAME}", 'a template has the variables that the filter lets through, and nginx its own';
like output('writable'), qr/^rate 3r\/h, [1-9]\d* lines$/m, 'a program ran after the configuration was made';
like output('writable'), qr/11-not\.envsh is not executable/, 'what is left out is told';
like output('writable'), qr/rate limit: ngx_http_rate_limit_module \Q$version\E/, 'the error log is in its output';
wait_until { output('writable') =~ m{"GET /\?5 HTTP/1\.1" 429} } what => 'the access log in its output';

my $running = RateLimit::HTTP->new(port => $port);
$running->send("POST /running HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
wait_until { output('writable') =~ /worker process/ } what => 'workers';
get('/name');
$nginx->signal('QUIT');
wait_until { output('writable') =~ /gracefully shutting down/ } what => 'a graceful end';
$running->send('cde');
is $running->response->status, 200, 'a request that runs is answered after SIGQUIT';
ok $nginx->wait(30), 'then it ends';
is $nginx->status, 0, '... well';
unlike output('writable'), qr/\[(?:alert|crit|emerg)\]/, 'nothing was wrong';

# The configuration that the first run wrote is gone, and cannot be written again.
unlink "$inside/etc/nginx/conf.d/default.conf" or die $!;
my $refused = container('refused', env => \%env, mounts => $read_only);
ok $refused->wait(30), 'with a read-only root it ends where a template can be put nowhere';
isnt $refused->status, 0, '... with an error';
like output('refused'), qr{/etc/nginx/conf\.d/default\.conf cannot be written}, '... that says so';

$nginx = container('read-only', env => \%env, mounts => "mount -t tmpfs -o uid=101,gid=101 conf \$root/etc/nginx/conf.d; $read_only");
wait_until { answers() || !$nginx->alive } what => 'nginx', timeout => 30;
is_deeply [map { get("/?$_")->status } 1 .. 4], [200, 200, 200, 429], 'with that mounted, and /tmp, it limits, too' or diag output('read-only');
$nginx->signal('QUIT');
ok $nginx->wait(30), 'it ends';
unlike output('read-only'), qr/\[(?:alert|crit|emerg)\]/, 'nothing was wrong';

done;
