# `make world` runs as many worlds as it is told, or as long, and refuses what makes no sense before anything runs.

use RateLimit::Test;

my $root = project_path('.');
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS SEEDS SECONDS SEED FAULTS FIRST SANITIZE FAR REGIONS)};

sub run_of ($words) {
    my $output = qx{make --no-print-directory -n -C '$root' world $words 2>&1};
    return $output =~ m{/world +((?!failed)\S[^\n]*?)\s*\z} ? $1 : $output;
}

is run_of(''),                             '1000', 'a thousand, if it is not told';
is run_of('SEEDS=60'),                     '60',   'as many';
is run_of('SEEDS=60 FIRST=7'),             '60 7', 'from that one on';
like run_of('SECONDS=5'),                  qr/^seconds 5 \d{8}0{6}$/, 'so long, from one of the day, far from those of the next';
like run_of('SECONDS=5 SANITIZE=1'),       qr/^seconds 5 \d{8}0{6}$/, 'under sanitizers too';
is run_of('SEED=7'),                       'seed 7', 'or one';
is run_of('SEED=7 FAULTS=0,3'),            'seed 7 0,3',  'with some of its faults';
is run_of('SEED=0 FAULTS=none'),           'seed 0 none', 'or none';
is run_of('FIRST=7'),                      '1000 7',      'a thousand from that one on';
is run_of('FAR=1 SEEDS=60 FIRST=7'),       'far 60 7',    'of several data centers';
is run_of('FAR=1 SEED=7 FAULTS=0,3'),      'far seed 7 0,3', 'or one of these';
is run_of('REGIONS=1 SEEDS=60 FIRST=7'),   'regions 60 7', 'of regions';

for my $together ('SECONDS=5 SEEDS=60', 'FAULTS=0', 'SEED=7 FIRST=3', 'SEED=7 SEEDS=60', 'SEED=7 SECONDS=5', 'SEEDS=60 FAULTS=0', 'SEED=7 FAULTS=0 FIRST=1') {
    my $names = join '\\+', grep { $together =~ /\b$_=/ } qw(SEED FAULTS SECONDS SEEDS FIRST);
    like run_of($together), qr/\A\S+ \*\*\* "make world" takes SEEDS, .* but not $names\.  Stop\.\n\z/, "$together is refused";
}
my %wanted = (
    SEEDS => 'a whole number from 1 on', SECONDS => 'a whole number from 1 on, of nine digits at most', SEED => 'a whole number', FIRST => 'a whole number',
    FAULTS => 'numbers such as 0,3, or none', SANITIZE => 'SANITIZE=1 or nothing', FAR => 'FAR=1 or nothing', REGIONS => 'REGIONS=1 or nothing');
for my $word ('SEEDS=', 'SEEDS=0', 'SEEDS=-1', 'SEEDS=ten', 'SECONDS=', 'SECONDS=0', 'SECONDS=1.5', 'SECONDS=18446744074', 'SEED=', 'SEED=abc', 'SEED=7x', 'FIRST=', 'FIRST=abc',
    'FIRST=1234567890123456789', 'SEED=7 FAULTS=', 'SEED=7 FAULTS=0,', 'SEED=7 FAULTS=a', 'SEED=7 FAULTS="0 3"', 'SANITIZE=0', 'SANITIZE=yes', 'FAR=0', 'REGIONS=0') {
    my ($name, $value) = $word =~ /(\w+)="?([^"=]*)"?\z/;
    like run_of($word), qr/\A\S+ \*\*\* \Q$name is "$value", and "make world" wants $wanted{$name}\E\.  Stop\.\n\z/, "$word is refused";
}

done;
