# docs/recipes.md, "How large a burst": 20 at once, and 100 in any minute, however the client times its requests.

use RateLimit::Test;

my $app   = RateLimit::Backend->start;
my $nginx = start_text(code(project_file('docs/recipes.md'), 'recipe: burst'), app => $app, nginx => {clock => 1});
my $http  = $nginx->http;

# At instants of 0.75 s, at which one token comes back; a pause, after which the bucket is full again.
my @instants = ((map { 0.75 * $_ } 0 .. 80), map { 90 + 0.75 * $_ } 0 .. 40);
my %passed;
for my $after (@instants) {
    $nginx->stand_at(1_800_000_000 + $after);
    $passed{$after} = 0;
    ++$passed{$after} while $http->get('/')->status == 200 && $passed{$after} < 1000;
}
is $passed{0}, 20, '20 at once';
is $passed{0.75}, 1, 'then as fast as the rate says';
is $passed{90}, 20, '... and 20 again after 15 s of peace';
my @in_a_minute = map { my $from = $_; sum0(map { $_ >= $from && $_ <= $from + 60 ? $passed{$_} : () } @instants) } @instants;
is max(@in_a_minute), 100, 'the most in any minute';

done;
