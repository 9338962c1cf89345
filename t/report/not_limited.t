# A location with a report is not limited, charged or counted, whatever http and server say: a client at its limit still gets its report, and dry
# runs are in it. Neither is a request charged for it that was limited before it came here, but for what it owes to those limits.

use RateLimit::Test;
use JSON::PP;

my $nginx = RateLimit::Nginx->start(
    http   => 'log_format ends "$uri $status $rate_limit_status"; rate_limit_key k; rate_limit 3r/h name=all; rate_limit 2r/h name=dry dry_run=on;
        rate_limit 9r/h name=late phase=precontent;',
    server => 'access_log %%DIR%%/ends ends; location /limits/ { rate_limit_console view; }
        location = /report { rate_limit_report; }
        location = /first { rate_limit 3r/h name=first; try_files /none /report; }
        location = /page { rate_limit off; ssi on; ssi_types *; }
        location = /limited { rate_limit 0r/s name=limited; error_page 429 /report; }',
    files => {page => '<!--#include virtual="/report" -->|<!--#include virtual="/report" -->'},
);
my sub used ($response) {
    my $report = $response->json;
    return join ' ', map { "$_ $report->{resources}{$_}{used}" } sort keys %{$report->{resources}};
}
is used($nginx->get('/report')), 'all 0 dry 0 late 0', 'at first' for 1 .. 20;
is_deeply [map { outcome($nginx->get('/x')) =~ s/ .*//r } 1 .. 4], [200, 200, 200, 429], 'the limit is reached';
my $response = $nginx->get('/report');
is $response->status, 200, 'a report of it';
is used($response), 'all 3 dry 2 late 3', '... with dry runs';
shows $response, 200, {limit => 3, used => 3, remaining => 0, retry_after => undef}, '... and headers of the tightest';
like +($nginx->lines('ends'))[-1], qr{^/report 200 -$}, '... without an outcome';
my $counted = $nginx->told;
is_deeply [@{$counted->{requests}}{qw(passed rejected_dry_run rejected)}], [2, 1, 1], 'nothing is counted but requests';

$response = $nginx->get('/first');
is used($response), 'all 3 dry 2 late 3', 'a request that was limited in another location gets its report';
shows $response, 200, {limit => 3, used => 1, resource => 'first'}, '... with the headers of that limit';
shows $nginx->get('/first'), 200, {limit => 3, used => 2, resource => 'first'}, '... which has charged it';
is used($response), 'all 3 dry 2 late 3', '... and no other';

$response = $nginx->get('/limited');
is $response->status, 429, 'a report can be the body of a rejection';
is used($response), 'all 3 dry 2 late 3', '... with its limits';
my @parts = map { decode_json($_)->{rate}{used} } split /\|/, $nginx->get('/page')->body =~ s/\n//gr;
is_deeply \@parts, [3, 3], 'and part of a page';

done;
