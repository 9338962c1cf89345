# headers=off on a line: the limit decides, and no header shows it, but that a rejection by it has Retry-After; the others are shown as
# they stand. Variables by its name describe it all the same.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_key $http_x_key; rate_limit_headers github ietf;
        log_format all "$rate_limit_resource,$rate_limit_remaining,$rate_limit_retry_after,$rate_limit_status_inner,$rate_limit_used_inner,$rate_limit_all";',
    server => 'access_log %%DIR%%/all all;
        location /one/ { alias %%DIR%%/html/; rate_limit 2r/h name=inner headers=off; rate_limit 10r/h name=outer headers=on; }
        location /both/ { alias %%DIR%%/html/; rate_limit 9r/h name=first headers=off; rate_limit 2r/h name=inner headers=off; }
        location /alone/ { alias %%DIR%%/html/; rate_limit 1r/h name=alone headers=off; }
        location /silent/ { alias %%DIR%%/html/; rate_limit_headers off; rate_limit 1r/h name=silent headers=off; }
        location /report { rate_limit 2r/h name=inner headers=off; rate_limit 10r/h name=outer; rate_limit_report; }
        location /empty { rate_limit 2r/h name=inner headers=off; rate_limit_report; }',
);

sub ask ($uri) { my $seen = $nginx->lines('all'); my $response = $nginx->get($uri, 'X-Key' => 'k'); wait_until { $nginx->lines('all') > $seen } what => 'the log'; return ($response, ($nginx->lines('all'))[-1]) }
sub names ($response) { return join ' ', sort grep { defined $response->header($_) } qw(X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Resource RateLimit RateLimit-Policy Retry-After) }

my $all = 'RateLimit RateLimit-Policy X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Resource';
my ($response, $line) = ask('/one/x');
is names($response), $all, 'one is shown';
is_deeply [map { $response->header("X-RateLimit-$_") } qw(Resource Remaining)], ['outer', 9], '... though the other has less';
unlike $response->header($_), qr/inner/, "$_ has no hidden one" for qw(RateLimit RateLimit-Policy);
like $line, qr/^outer,9,-,PASSED,1,inner=PASSED:1\/2,outer=PASSED:1\/10$/, 'variables: by its name, and of all';
ask('/one/x');
($response, $line) = ask('/one/x');
is $response->status, 429, 'the hidden one rejects';
is names($response), "$all Retry-After" =~ s/(.*) (Retry-After)/join(' ', sort split(m{ }, $1), $2)/er, '... with Retry-After';
ok $response->header('Retry-After') > 3590, '... which is its own';
is_deeply [map { $response->header("X-RateLimit-$_") } qw(Resource Remaining)], ['outer', 8], '... beside the other one as it stands';
my @fields = split /,/, $line;
is_deeply [@fields[0, 1, 3, 4]], ['outer', 8, 'REJECTED', 2], '... and so do the variables';
is $fields[2], $response->header('Retry-After'), '... but for what Retry-After says';
my $report = $nginx->get('/report', 'X-Key' => 'k')->json;
is_deeply [sort keys %{$report->{resources}}], ['outer'], 'a report leaves it out';
is $nginx->get('/empty', 'X-Key' => 'k')->status, 404, '... all of it where all are hidden';

($response, $line) = ask('/both/x');
is names($response), 'Retry-After', 'where all are hidden a rejection has Retry-After alone';
like $line, qr/^inner,0,\d+,REJECTED,2/, '... and variables describe the one that rejects';
ask('/alone/x');
($response, $line) = ask('/alone/x');
is names($response), 'Retry-After', 'one alone';
($response, $line) = ask('/silent/x');
is names($response), '', 'it passes';
like $line, qr/^silent,0,-,/, '... and is described';
is names((ask('/silent/x'))[0]), '', 'rate_limit_headers off leaves that out, too';

done;
