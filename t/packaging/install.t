# "make install" puts the stripped module where nginx looks for it, "make uninstall" takes it away, both below DESTDIR.

use RateLimit::Test;

# MAKEFLAGS tells the inner make which nginx and which folder the outer one was told.
plan skip_all => 'not run by make' if !$ENV{MAKELEVEL};

my $root = project_path('.');
my $dest = test_folder() . '/dest with a space';

sub make ($target) {
    my $output = qx{make --no-print-directory -C '$root' $target DESTDIR='$dest' 2>&1};
    is $?, 0, "make $target" or diag $output;
    return $output;
}

sub installed () { return split /\n/, qx{find '$dest' -type f} }

my ($path) = make('install') =~ m{^installed (\Q$dest\E/.*/ngx_http_rate_limit_module\.so)$}m;
ok $path, 'it says where';
is_deeply [installed()], [$path], 'one file below DESTDIR';
my $module = RateLimit::Nginx::module();
cmp_ok -s $path, '<', -s $module, 'smaller than what was built';
is_deeply [map { scalar read_text($_) =~ /\0\.debug_info\0/ } $module, $path], [1, ''], 'without what is for debuggers';

my $linked = test_folder() . '/linked.so';
symlink $path, $linked or die $!;
my $nginx = RateLimit::Nginx->start(
    module => $linked, server => 'location / { rate_limit_key k; rate_limit 5r/m; }');
is_deeply [map { $nginx->get('/')->status } 1 .. 6], [(200) x 5, 429], 'nginx runs with it';

my $before = (stat $path)[1];
make('install');
isnt +(stat $path)[1], $before, 'an upgrade is another file: what runs keeps the old one';
is $nginx->get('/')->status, 429, 'and goes on';

make('uninstall');
is_deeply [installed()], [], 'taken away';
make('uninstall');

done;
