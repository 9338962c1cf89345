# The sources of hiredis, where it must be built, are those that HIREDIS_SRC names, and apt is asked for nothing; else they
# are a source package, and the build says what it fetches, from where and how that is verified, before it asks apt.

use RateLimit::Test;

my $folder = test_folder();
my ($codename) = read_text('/etc/os-release') =~ /^VERSION_CODENAME="?(\w+)/m or plan skip_all => 'this system is not Debian';
my $script = project_path('tools/hiredis');
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS HIREDIS_SRC)};

# An apt-get that knows a mirror and cannot reach it. It keeps what had been said when it was asked.
mkdir "$folder/bin" or die $!;
write_text("$folder/bin/apt-get", <<"END");
#!/bin/sh
if [ "\$1" = indextargets ]; then
    echo "$codename main http://mirror.test/debian"
    exit
fi
cp $folder/output $folder/before
echo cannot reach it
exit 1
END
write_text("$folder/bin/dpkg-source", "#!/bin/sh\n");
chmod 0755, glob "$folder/bin/*";
$ENV{PATH} = "$folder/bin:$ENV{PATH}";

sub build ($src = '') {
    unlink "$folder/before";
    my $status = system "HIREDIS_SRC='$src' '$script' '$folder/built' >'$folder/output' 2>&1";
    return $status == 0, read_text("$folder/output");
}

my $fetching = qr/^fetching the source package hiredis of Debian trixie from http:\/\/mirror\.test\/debian; apt verifies it by Debian's signature \(\S.*\)$/m;
my ($built, $output) = build();
ok !$built, 'without a network and without sources';
like read_text("$folder/before"), $fetching, 'it is said before apt is asked';
like $output, qr/cannot reach it\nerror: no source package hiredis of trixie; apt must be able to reach its mirror\n/, 'and why it fails';

mkdir "$folder/src" or die $!;
($built, $output) = build("$folder/src");
ok !$built, 'a folder without sources';
is $output, "error: HIREDIS_SRC=$folder/src is no source tree of hiredis >= 1.0: it has no Makefile\n", 'is refused';

write_text("$folder/src/$_", '') for qw(hiredis.h async.h COPYING);
write_text("$folder/src/Makefile", "static:\n\techo one > libhiredis.a\nclean:\n\trm -f *.a\n");
write_text("$folder/src/libhiredis.a", 'stale');
($built, $output) = build("$folder/src");
ok $built, 'sources on disk';
is $output, "building hiredis from $folder/src\n", 'nothing is fetched';
ok !-e "$folder/before", 'nor is apt asked';
is read_text("$folder/built/lib/libhiredis.a"), "one\n", 'built';
ok -e "$folder/built/include/hiredis/async.h", 'with its headers';
is read_text("$folder/src/libhiredis.a"), 'stale', 'the sources stay as they are';
($built, $output) = build("$folder/src");
ok $built && $output eq '', 'the same sources again: nothing to do';
write_text("$folder/src/Makefile", read_text("$folder/src/Makefile") =~ s/echo one/echo two/r);
utime 1, 1, "$folder/src/Makefile";
($built, $output) = build("$folder/src");
is read_text("$folder/built/lib/libhiredis.a"), "two\n", 'others are built';

done;
