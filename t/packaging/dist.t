# make dist: a tarball of the sources, which packs itself again to the byte, and in which make finds all that it needs.

use RateLimit::Test;

my ($root, $out) = (project_path('.'), test_folder() . '/out');
my $name = 'ngx_http_rate_limit_module-' . project_file('VERSION') =~ s/\s+//gr;

sub run ($what, @command) {
    open my $command, '-|', @command or die "$command[0]: $!";
    my $output = do { local $/; <$command> };
    ok close $command, $what or diag $output;
    return $output;
}
like run('packed', "$root/tools/dist", $out), qr{^packed \Q$out/$name.tar.gz\E$}m, 'it says where';
run('unpacked', 'tar', '-C', $out, '-xzf', "$out/$name.tar.gz");
my @packed = split /\n/, run('listed', 'find', "$out/$name", '-type', 'f', '-printf', '%P\n');
is scalar(grep { m{^(?:build|\.git)/} } @packed), 0, 'nothing that was built';
ok -x "$out/$name/tools/deps", 'what is executable stays so';
SKIP: {
    skip 'no repository', 1 if !-e "$root/.git";
    my @known = grep { -e "$root/$_" } split /\n/, run('git', 'git', '-C', $root, 'ls-files', '--cached', '--others', '--exclude-standard');
    is_deeply [sort @packed], [sort @known], 'all that git knows';
}

# Its time is that of the changelog, which the tarball sets.
run('packed again', "$out/$name/tools/dist", "$out/again");
is run('compared', 'cmp', "$out/$name.tar.gz", "$out/again/$name.tar.gz"), '', 'the same bytes';
like run('make', 'make', '-C', "$out/$name", '-n', 'module', 'NGINX=' . RateLimit::Nginx::binary()), qr/ngx_http_rate_limit_module\.so/, 'make knows what to do there';

done;
