# make cannot handle paths with spaces: the Makefile says so at once, and of which.

use RateLimit::Test;

my $root = project_path('.');
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};

sub refused ($folder, $words, $pattern) {
    my $output = qx{make --no-print-directory -n -C '$folder' clean $words 2>&1};
    isnt $?, 0, "refused: $words";
    return like $output, qr/^Makefile:\d+: \*\*\* $pattern\.  Stop\.$/m, 'as said';
}

for my $name (qw(BUILD DEPS NGINX NGINX_SRC HIREDIS_SRC)) {
    refused($root, "$name='/tmp/a b'",
        qr{$name is "/tmp/a b", and make cannot handle a path with a space: give $name a path without one});
}
my $copy = test_folder() . '/with a space';
mkdir $copy or die $!;
write_text("$copy/Makefile", read_text("$root/Makefile"));
refused($copy, '', qr{CURDIR is "[^"]*/with a space", and make cannot handle .*: move the sources to a path without one});

is system("make --no-print-directory -n -C '$root' clean >/dev/null"), 0, 'others are fine';

done;
