# The simulator refuses a command, a setting or a schedule that makes no sense: status 2, and one line with the word, and what is wanted.

use RateLimit::Test;

my $root = project_path('.');
my ($simulator) = qx{make --no-print-directory -s -C '$root' simulator 2>&1} =~ m{^(/\S+)\n\z}m or die "no simulator\n";
my $file = test_folder() . '/schedule';
my $told = test_folder() . '/told';

# Returns what the simulator prints, its status, its signal, and what it tells on stderr.
sub simulated (@words) {
    my $printed = qx{'$simulator' @{[map { "'$_'" } @words]} 2>'$told'};
    return ($printed, $? >> 8, $? & 127, read_text($told));
}

sub refused ($name, $wanted, @words) {
    my ($printed, $status, $signal, $line) = simulated(@words);
    is "$status $signal $printed", '2 0 ', "$name is refused";
    like $line, qr/\Asimulate: [^\n]*$wanted[^\n]*\n\z/, '... in one line that says what is wanted';
}

my @sense = ('limit=3', 'period=60', 'machines=2', 'keys=2');

sub schedule_refused ($name, $wanted, $text) {
    write_text($file, $text);
    refused($name, $wanted, 'given', $file, 'lease', 1, @sense);
}

write_text($file, "0 0 0 0\n5 1 1 20000\n5\t1  0 1\n");
my ($printed, $status) = simulated('given', $file, 'lease', 1, @sense, 'response_us=17.5', 'lag_us=1e3', 'latency_us=0');
is $status, 0, 'what makes sense is run';
like $printed, qr/\badmitted=3\trejected=0\tfailed=0\b/, '... all of it';

my $usage = qr/wanted is cells \| run CELL/;
refused('no command',            $usage);
refused('an unknown command',    $usage, 'walk');
refused('more than "cells"',     $usage, 'cells', 'all');
refused('"run" with a cell',     $usage, 'run', 'abc');
refused('"run" with five words', $usage, 'run', 0, 'lease', 1, 5, 5);
refused('"given" with a file',   $usage, 'given', $file);

my $cell = qr/is not the number of a cell: a whole number from 0 to \d+ is wanted/;
refused("the cell '$_->[0]'", qr/"\Q$_->[0]\E" $_->[1]/, 'run', $_->[0], 'lease', 1, 5) for ['abc', $cell], ['-1', $cell], ['1000', $cell], ['', $cell], ['1x', $cell];
for my $run (['run', 0], ['given', $file]) {
    refused("a way of $run->[0]",     qr/"leases" is no way: one of check_charge, check_charge-fresh-off, charge_refund, lease is wanted/, @$run, 'leases', 1);
    refused("the seed '$_' of $run->[0]", qr/"\Q$_\E" is not the seed: a whole number from 0 to 9+ is wanted/, @$run, 'lease', $_) for 'abc', '-1', '', '1.5', 9 x 19;
}
refused("'$_' requests", qr/"\Q$_\E" is not the number of requests at most: a whole number from 1 to \d+ is wanted/, 'run', 0, 'lease', 1, $_) for 0, -5, 'many', '';

my %most = (machines => 10_000, workers => 1000, limit => 1_000_000_000_000, period => 31_622_400, keys => 10_000_000);
for my $name (sort keys %most) {
    refused("$name=$_", qr/"\Q$name=$_\E": $name is a whole number from 1 to $most{$name}$/, 'given', $file, 'lease', 1, "$name=$_")
        for 0, -1, 'abc', '', 1.5, '1x', $most{$name} + 1;
}
for my $name (qw(response_us response_rest_us latency_us latency_rest_us lag_us)) {
    refused("$name=$_", qr/"\Q$name=$_\E": $name is a number from 0 to 3600000000$/, 'given', $file, 'lease', 1, "$name=$_")
        for -1, 'abc', '', '1x', 'nan', '1e99', '0x10', '.';
}
refused('a name without a value',   qr/"limit": limit is a whole number/,                                    'given', $file, 'lease', 1, 'limit');
refused('a name that sets nothing', qr/"colour=1" sets nothing: .* one of machines, workers, limit, .*lag_us/, 'given', $file, 'lease', 1, 'colour=1');
refused('a setting made twice',     qr/"limit=4": limit is set twice/,                                       'given', $file, 'lease', 1, 'limit=3', 'limit=4');
refused('no limit',                 qr/limit=NUMBER is missing/,                                             'given', $file, 'lease', 1, 'period=60');
refused('no period',                qr/period=NUMBER is missing/,                                            'given', $file, 'lease', 1, 'limit=3');

my $four = qr/four are wanted: microseconds since the start, machine, key, microseconds of the response/;
refused('a missing schedule', qr/nowhere has no schedule: a line for each request is wanted/, 'given', "$file-nowhere", 'lease', 1, @sense);
schedule_refused('an empty schedule',        qr/schedule has no schedule/,                                          '');
schedule_refused('a line that is cut',       qr/line 2: 3 words, where $four/,                                      "0 0 0 0\n5 1 0\n6 0 0 0\n");
schedule_refused('a line with more',         qr/line 1: 5 words, where $four/,                                      "0 0 0 0 0\n");
schedule_refused('an empty line',            qr/line 2: 0 words, where $four/,                                      "0 0 0 0\n\n5 1 0 0\n");
schedule_refused('a word for a time',        qr/line 3: "x" is not the microseconds since the start, which never decrease: a whole number from 5 to/, "0 0 0 0\n5 1 0 0\nx 0 0 0\n");
schedule_refused('a negative time',          qr/line 1: "-1" is not the microseconds since the start.* from 0 to/,  "-1 0 0 0\n");
schedule_refused('a time before the last',   qr/line 2: "4" is not the microseconds .* from 5 to/,                  "5 0 0 0\n4 0 0 0\n");
schedule_refused('a machine that is none',   qr/line 1: "2" is not the number of a machine: a whole number from 0 to 1 is wanted/, "0 2 0 0\n");
schedule_refused('a key that is none',       qr/line 1: "2" is not the number of a key: a whole number from 0 to 1 is wanted/,     "0 0 2 0\n");
schedule_refused('a negative response',      qr/line 1: "-1" is not the microseconds of the response/,              "0 0 0 -1\n");
schedule_refused('a carriage return',        qr/line 1: "0\r" is not the microseconds of the response/,             "0 0 0 0\r\n");
schedule_refused('a last line without end',  qr/line 2: the file ends within it: a newline is wanted/,              "0 0 0 0\n5 0 0 0");

done;
