# conf-examples/github-core-and-search.conf: two resources, tokens as digests, and a look at both that costs nothing.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($req, $conn) {
    return [304, ['ETag' => '"a"']] if $req->{headers}{'if-none-match'};
    return [200, ['ETag' => '"a"'], $req->{uri}];
});
my $nginx = start_example('github-core-and-search', shards => $shards, app => $app);
my @token = ('Authorization' => 'token t1');

is_deeply [@{limits($nginx->get('/repos', @token))}{qw(limit used resource)}], [5000, 1, 'core'], 'core with a token';
is_deeply [@{limits($nginx->get('/repos'))}{qw(limit used resource)}], [60, 1, 'core'], 'core without';
is_deeply [@{limits($nginx->get('/search/code', @token))}{qw(limit used resource)}], [30, 1, 'search'], 'search with a token';
is_deeply [@{limits($nginx->get('/search/code'))}{qw(limit used resource)}], [10, 1, 'search'], 'search without';

sub keys_held () { my @keys = sort map { $_->keys } $shards->primaries; return @keys }
sub used () { return join ' ', sort map { my $p = $_; map { "$_=" . $p->hash($_)->{used} } $p->keys } $shards->primaries }
wait_until { keys_held() == 4 } what => 'four windows';
$shards->wait_synced;
is scalar(grep { /^rl:(?:core\/3600|search\/60)#[0-9a-f]{64}$/ } keys_held()), 4, 'Redis sees digests, no token';

my $before = used();
for (1 .. 3) {
    my $both = $nginx->get('/rate_limit', @token);
    is $both->header('RateLimit-Policy'), '"core";q=5000;w=3600, "search";q=30;w=60', 'both policies';
    like $both->header('RateLimit'), qr/^"core";r=4999;t=\d+, "search";r=29;t=\d+$/, 'both at their places';
    my $report = decode_json($both->body);
    is_deeply [map { $_->{used} } @{$report->{resources}}{qw(core search)}, $report->{rate}], [1, 1, 1], 'and in the report';
}
shows $nginx->get('/repos', @token, 'If-None-Match' => '"a"'), 304, {used => 1}, 'not modified, and free';
shows $nginx->get('/search/code', 'If-None-Match' => '"a"'), 304, {used => 2}, 'a search that found nothing new is not free';
wait_until { used() ne $before } what => 'the charge of the search';

$shards->wait_synced;
$nginx->get('/search/code') for 3 .. 10;
wait_until { used() =~ /search\S*=10\b/ } what => '10 searches';
$shards->wait_synced;
is $nginx->get('/search/code')->status, 429, 'no search is left';
is $nginx->get('/repos')->status, 200, 'core is not affected';
my $look = $nginx->get('/rate_limit');
is $look->status, 200, 'the look itself is never rejected';
like $look->header('RateLimit'), qr/"search";r=0;/, 'and shows that nothing remains';
$nginx->stop;
like used(), qr/search\S*=10\b/, 'nor charged';

done;
