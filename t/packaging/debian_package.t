# The Debian package says what the project says: the version that its build derives is that of VERSION and CHANGELOG.md, its manual page
# has each directive and variable of docs/reference.md, it installs files that exist, and its license is the project's.

use RateLimit::Test;
use version;

my $version = project_file('VERSION') =~ s/\n\z//r;
my ($newest) = project_file('CHANGELOG.md') =~ /^## \[(\d[\d.]*)\]/m;
ok(version->parse("v$version") >= version->parse('v' . ($newest // '0.0.0')), 'VERSION is not older than the newest release in CHANGELOG.md');

# A dpkg-buildpackage of our own keeps what tools/deb gives it.
my $folder = test_folder();
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
mkdir "$folder/bin" or die $!;
write_text("$folder/bin/dpkg-buildpackage", "#!/bin/sh\ncp debian/changelog $folder/changelog\necho \"\$@\" >$folder/arguments\nls hiredis >$folder/listed\nexit 1\n");
write_text("$folder/bin/unshare", "#!/bin/sh\nexit 1\n");
chmod 0755, glob "$folder/bin/*";
mkdir "$folder/hiredis" or die $!;
write_text("$folder/hiredis/$_", '') for qw(Makefile hiredis.h async.h);
my $script = project_path('tools/deb');

SKIP: {
    my ($id) = read_text('/etc/os-release') =~ /^VERSION_ID="?(\d+)/m;
    skip 'this system is not Debian', 6 if read_text('/etc/os-release') !~ /^ID=debian$/m || !$id;
    my $said = qx{cd / && PATH='$folder/bin':\$PATH HIREDIS_SRC='$folder/hiredis' '$script' '$folder/out' '$folder/sources' 2>&1};
    like $said, qr/^2 of 2: building libnginx-mod-http-rate-limit \Q$version\E-1~deb$id\b/m, 'what is built is said';
    like read_text("$folder/changelog"), qr/\Alibnginx-mod-http-rate-limit \(\Q$version\E-1~deb$id\) \w+; urgency=\w+\n\n  \* .+\n\n -- .+ <.+>  \w+, \d\d .+\n\z/, 'its changelog has the version';
    like read_text("$folder/arguments"), qr/--build-profiles=pkg\.libnginx-mod-http-rate-limit\.hiredis/, 'with the hiredis that is given';
    like read_text("$folder/listed") // '', qr/^async\.h\n(?:.*\n)*hiredis\.h$/m, '... whose sources are a part of it';
    my @packed = split /\n/, qx{tar -tzf '$folder/out/libnginx-mod-http-rate-limit_$version.orig.tar.gz'};
    is_deeply [grep { m{^[^/]+/(?:\.git|build)(?:/|$)} } @packed], [], 'the source package has nothing that was built';
    is scalar(grep { $_ eq "libnginx-mod-http-rate-limit-$version/src/ngx/module.cpp" } @packed), 1, '... and the sources';
}

for my $list (qw(docs examples)) {
    for my $pattern (split /\n/, project_file("packaging/debian/libnginx-mod-http-rate-limit.$list")) {
        my @files = glob project_path($pattern);
        ok -e ($files[0] // ''), "$list: $pattern";
    }
}
my sub words ($text) { return $text =~ s/^ \.$//gmr =~ s/\s+/ /gr }
my ($license) = project_file('LICENSE') =~ /^(Redistribution.*)\z/ms;
like words(project_file('packaging/debian/copyright')), qr/\Q@{[words($license) =~ s{ $}{}r]}\E/, 'the license is that of LICENSE';

SKIP: {
    skip 'no lowdown: make deps GROUPS=package', 4 if !qx{sh -c 'command -v lowdown'};
    my $reference = project_file('docs/reference.md');
    my $page = qx{'@{[project_path('tools/man-page')]}' '$version' 2026-01-01 < '@{[project_path('docs/reference.md')]}'};
    is $?, 0, 'the manual page is made';
    my $plain = $page =~ s/\\f[BIRP]//gr =~ s/\\-/-/gr =~ s/\\&//gr;
    is_deeply [grep { $plain !~ /^\.SS \Q$_\E(?:,.*)?$/m } $reference =~ /^####? (\w+)$/mg], [], 'each directive has a heading in it';
    is_deeply [grep { $plain !~ /^\Q$_\E$/m } $reference =~ /^\| `(\$\w+)` \|/mg], [], '... and each variable an entry';
    unlike $plain, qr/\]\(|\.md#|<#/, '... and no link is left';
    if (qx{sh -c 'command -v mandoc'}) {
        write_text("$folder/page.7", $page);
        is qx{mandoc -T lint -W warning '$folder/page.7'}, '', 'mandoc finds nothing wrong with it';
    }
}

done;
