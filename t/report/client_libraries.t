# Clients of GitHub's API read a report: octokit, go-github and PyGithub take `resources` with four integers in each, and `rate`, that of the first
# line. Its headers are those of the limit with the least remaining, and nobody keeps it.

use RateLimit::Test;
use POSIX qw(ceil);
use Time::HiRes ();

my $nginx = RateLimit::Nginx->start(server => '
    rate_limit_key k;
    location /api/ { rate_limit 5000r/h name=core; }
    location /search { rate_limit 30r/m name=search; }
    location /tests { rate_limit $arg_rate name=tests; }
    location = /rate_limit {
        rate_limit_report; rate_limit_headers github ietf;
        rate_limit 5000r/h name=core; rate_limit 30r/m name=search phase=precontent; rate_limit $arg_rate name=tests;
    }
    location = /off { rate_limit_report; rate_limit_headers off; rate_limit 30r/m name=search phase=precontent; rate_limit 5000r/h name=core; }');
$nginx->get('/api/') for 1 .. 2;
$nginx->get('/search');
my $from     = time;
my $response = $nginx->get('/rate_limit');
is $response->status, 200, 'a report';
is $response->header('Content-Type'),  'application/json', '... its type';
is $response->header('Cache-Control'), 'no-store',         '... not to be kept';
my $integers = $response->body =~ s/"reset":\d+/"reset":R/gr;
is $integers, '{"resources":{"core":{"limit":5000,"used":2,"remaining":4998,"reset":R},"search":{"limit":30,"used":1,"remaining":29,"reset":R}},'
    . '"rate":{"limit":5000,"used":2,"remaining":4998,"reset":R}}', '... of integers alone, in the order of the lines';
my $report = $response->json;
for (['core', 3600], ['search', 60]) {
    my ($name, $period) = @$_;
    my $reset = $report->{resources}{$name}{reset};
    ok $reset > $from && $reset <= ceil(Time::HiRes::time() + $period), "$name: seconds since the epoch";
}
is_deeply $report->{rate}, $report->{resources}{core}, 'the rate is that of the first line';

my %search = %{$report->{resources}{search}};
shows $response, 200, {%search, resource => 'search'}, 'the github headers';
like $response->header('RateLimit'), qr/^"core";r=4998;t=\d+, "search";r=29;t=\d+$/, 'the ietf headers';
is $response->header('RateLimit-Policy'), '"core";q=5000;w=3600, "search";q=30;w=60', '... with their policies';
is_deeply [sort keys %{$nginx->get('/rate_limit?rate=3r/m')->json->{resources}}], [qw(core search tests)],
    'a limit with a variable rate, where that is not empty';
$response = $nginx->get('/off');
shows $response, 200, {}, 'no headers, as configured';
is_deeply $response->json->{rate}, $report->{resources}{search}, 'the first line is the first of any phase';

done;
