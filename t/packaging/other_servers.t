# tools/servers, with an apt that has some of the servers: those that cannot be had are named and left out, the others can be started,
# and what is there is not fetched again.

use RateLimit::Test;

my $folder = test_folder();
my ($codename) = read_text('/etc/os-release') =~ /^VERSION_CODENAME="?(\w+)/m or plan skip_all => 'this system is not Debian';
my $script = project_path('tools/servers');

# apt reaches all releases but testing; trixie has a valkey alone; packages hold one library and one loader, which says a version.
my %tools = (
    'apt-get' => <<~"END",
        case "\$*" in
            indextargets*) echo "$codename main http://mirror.test/debian" ;;
            *update)
                echo update >>$folder/asked
                for word; do
                    case \$word in *SourceList=*) list=\${word#*=} ;; esac
                done
                ! grep -q testing "\$list" || { echo 'E: no way there'; exit 100; }
                ;;
            *download*) echo "\$*" | sed 's/.* download //' >>$folder/asked; echo x >x.deb ;;
        esac
        END
    'apt-cache' => <<~"END",
        echo 'libc6 | 1 | http://mirror.test/debian'
        case "\$*" in *valkey-server*) echo 'valkey-server | 1 | http://mirror.test/debian' ;; esac
        END
    'dpkg-deb' => <<~'END',
        mkdir -p "$3/usr/lib/any-linux-gnu"
        cat >"$3/usr/lib/any-linux-gnu/ld-linux-any.so.2" <<'LOADER'
        #!/bin/sh
        case $* in *--version) echo "Valkey server v=9.8.7 sha=0" ;; *) echo "$@" ;; esac
        LOADER
        chmod 755 "$3/usr/lib/any-linux-gnu/ld-linux-any.so.2"
        END
);
mkdir "$folder/bin" or die $!;
write_text("$folder/bin/$_", "#!/bin/sh\n" . $tools{$_}) for keys %tools;
chmod 0755, glob "$folder/bin/*";

sub servers ($path = "$folder/bin:$ENV{PATH}") {
    unlink "$folder/asked";
    my $status = system "PATH='$path' '$script' '$folder/servers' >'$folder/output' 2>'$folder/errors'";
    return $status == 0, read_text("$folder/output");
}

my ($had, $output) = servers();
ok $had, 'some can be had';
my $binary = "$folder/servers/valkey-9.8.7/redis-server";
is_deeply [map { join ' ', split } split /\n/, $output], [
    'server version from REDIS_SERVER',
    "valkey 9.8.7 bookworm-backports $binary",
    "valkey 9.8.7 trixie $binary",
    'left out: redis of trixie: trixie has no package redis-server',
    'left out: redis of testing: no list of packages of testing: E: no way there',
    'left out: valkey of testing: no list of packages of testing: E: no way there',
], 'the table';
like read_text("$folder/asked"), qr{^valkey-server/trixie valkey-tools/trixie libc6/trixie$}m, 'libraries are those that the release has';
like read_text("$folder/errors"), qr{packages of Debian trixie from http://mirror\.test/debian; apt verifies it by}, 'where from is said';
my $root = "$folder/servers/valkey-9.8.7/root";
is qx{$binary a 'b c'}, "--argv0 valkey-server --library-path $root/usr/lib/any-linux-gnu:$root/lib/any-linux-gnu "
    . "$root/usr/bin/valkey-server a b c\n", 'the server is started by the loader of its own release';

my ($again, $same) = servers();
is $same, $output, 'again: the same';
is read_text("$folder/asked"), "update\nupdate\n", 'only what is missing is looked for';

unlink glob "$folder/servers/*/from";
write_text("$folder/bin/apt-get", "#!/bin/sh\nexit 1\n");
chmod 0755, "$folder/bin/apt-get";
($had, $output) = servers();
ok !$had, 'none';
like $output, qr/^left out: valkey of trixie: apt knows no mirror of Debian$/m, 'and why';

done;
