# `make world` runs as many worlds as it is told, or as long.

use RateLimit::Test;

my $root = project_path('.');
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};

sub run_of ($words) {
    my $output = qx{make --no-print-directory -n -C '$root' world $words 2>&1};
    return $output =~ m{/world ((?!failed)\S[^\n]*?)\s*\z} ? $1 : $output;
}

is run_of(''),                             '1000', 'a thousand, if it is not told';
is run_of('SEEDS=60'),                     '60',   'as many';
is run_of('SEEDS=60 FIRST=7'),             '60 7', 'from that one on';
like run_of('SECONDS=5'),                  qr/^seconds 5 \d{8}0{6}$/, 'so long, from one of the day, far from those of the next';
like run_of('SECONDS=5 SANITIZE=1'),       qr/^seconds 5 \d{8}0{6}$/, 'under sanitizers too';
is run_of('SEED=7'),                       'seed 7', 'or one';

done;
