# Each test and scenario that is of a row of the fault matrix stands in that row of its table, and no other does.

use File::Find;
use RateLimit::Test;

my (%told, %shown);
for my $line (split /\n/, project_file('t/faults/README.md')) {
    my ($row, $tests) = $line =~ /^\| (\d+[a-z]?) \| [^|]+ \| (.*) \|$/ or next;
    push @{$told{$row}}, "t/$1$2" while $tests =~ /\[([^\]]+)\]\([^)]*(\.\w+)\)/g;
}
my $root = project_path('t');
find({no_chdir => 1, wanted => sub {
    return if !/\.(?:t|cpp)$/;
    my ($rows) = read_text($_) =~ m{\A(?:(?:#|//).*\n)*?(?:#|//) Rows? ([0-9a-z, ]+) of the fault matrix} or return;
    my $test = 't' . substr $_, length $root;
    push @{$shown{$_}}, $test for split /, /, $rows;
}}, $root);
$_ = [sort @$_] for values %told, values %shown;
is_deeply \%told, \%shown, 'the table is what the heads of tests say';
is_deeply [sort { $a <=> $b } grep { /^\d+$/ } keys %told], [1 .. 34], 'no row is left out';

done;
