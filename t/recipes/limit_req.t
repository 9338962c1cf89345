# docs/recipes.md, "Bursts beside limit_req": a rejection by limit_req has headers of the same names, once each, and is not charged.

use RateLimit::Test;

my $app   = RateLimit::Backend->start;
my $nginx = start_text(code(project_file('docs/recipes.md'), 'recipe: limit_req'), app => $app);

my $first = limits($nginx->get('/'));
is_deeply [@$first{qw(limit used remaining resource)}], [5000, 1, 4999, 'quota'], 'within both: the headers of the quota';
is $first->{retry_after}, undef, 'and none of the burst';
my @all = $nginx->parallel(connections => 40, requests => 200, uri => '/');
my ($passed, $rejected) = map { my $status = $_; [grep { $_->status == $status } @all] } 200, 429;
is @$passed + @$rejected, 200, 'passed or rejected';
cmp_ok scalar @$rejected, '>', 50, 'by limit_req' or diag scalar @$passed;
my %told = map { join(' ', map { $_ // '-' } @{limits($_)}{qw(resource limit remaining retry_after)}) => 1 } @$rejected;
is_deeply [keys %told], ['burst 20 0 1'], 'which says so in headers of the same names';
my $later = wait_until { my $response = $nginx->get('/'); $response->status == 200 && $response } what => 'limit_req to let one pass';
is_deeply [@{limits($later)}{qw(resource used)}], ['quota', @$passed + 2], 'the quota was not charged for what limit_req rejected';

done;
