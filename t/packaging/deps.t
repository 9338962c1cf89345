# make deps wants what the build needs and no more; what tests, lint and other targets need comes with these.

use RateLimit::Test;

# Nothing is installed here, and nothing can be: the packages' tools, and what would write outside of the test's folder, are
# stubs.
my $bin = test_folder() . '/bin';
mkdir $bin;
for my $stub (['dpkg-query', 'exit 1'], ['apt-get', 'exit 1'], [id => 'echo 0'], map { [$_ => 'exit 0'] } qw(tee chmod rm)) {
    write_text("$bin/$stub->[0]", "#!/bin/sh\n$stub->[1]\n");
    chmod 0755, "$bin/$stub->[0]";
}

sub wanted (@groups) {
    local $ENV{PATH} = "$bin:$ENV{PATH}";
    delete local @ENV{qw(NGINX_BINARY NGINX_SRC HIREDIS_SRC)};
    my $said = qx{tools/deps @groups 2>&1};
    return { map { $_ => 1 } split ' ', ($said =~ /^installing (.*)$/m)[0] // '' };
}

if (read_text('/etc/os-release') !~ /^ID=debian$/m) {
    plan skip_all => 'tools/deps installs on Debian alone';
}
my $build = wanted();
ok $build->{$_},  "the build needs $_"         for qw(g++ make nginx-dev libssl-dev);
ok !$build->{$_}, "the build does not need $_" for qw(libgtest-dev liblua5.1-0-dev redis-server clang-tidy libnet-ssleay-perl);
my $test = wanted(qw(build test redis));
ok $test->{$_}, "tests need $_" for keys %$build, qw(libgtest-dev liblua5.1-0-dev redis-server);

done;
