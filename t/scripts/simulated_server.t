# The Redis of virtual time does what a real one does: it answers with the same bytes, leaves the same keys, and refuses in the same words.

use RateLimit::Test;

my $root   = project_path('.');
my $output = qx{make --no-print-directory -C '$root' differential CALLS=2500 2>&1};
is $?, 0, 'random calls of each script, on both' or diag $output;
my ($answers, $states) = $output =~ /^the same: 2500 calls of each of 8 scripts, (\d+) answers and the states of (\d+) keys/m;
cmp_ok $answers // 0, '>', 15_000, 'all answers are the same';
cmp_ok $states  // 0, '>', 250,    'and what the keys hold';

done;
