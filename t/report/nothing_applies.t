# A report is 404 with a message, as of an API without limits, where no limit applies or rate_limit_bypass lifts all. A limit whose key or rate
# is empty is left out, and the rate is then that of the first line that applies. Limits of running requests are left out, too.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(server => '
    rate_limit_key $arg_k;
    location = /none   { rate_limit_report; }
    location = /off    { rate_limit_report; rate_limit off; }
    location = /bypass { rate_limit_report; rate_limit 5r/h; rate_limit_bypass $arg_b; }
    location = /running { rate_limit_report; rate_limit_concurrency 3; }
    location = /beside { rate_limit_report; rate_limit 5r/h name=core; rate_limit_concurrency 3; rate_limit_concurrency 4 key=$arg_other; }
    location = /some   { rate_limit_report; rate_limit 5r/h key=$arg_a name=a; rate_limit $arg_r name=r; rate_limit 7r/h name=k; }');
for my $uri ('/none?k=x', '/off?k=x', '/bypass?k=x&b=1', '/bypass', '/some', '/running?k=x') {
    my $response = $nginx->get($uri);
    is $response->body, '{"message":"Rate limiting is not enabled."}', "$uri: the message";
    shows $response, 404, {}, '... without limits';
    is $response->header('Cache-Control'), 'no-store',         '... not to be kept';
    is $response->header('Content-Type'),  'application/json', '... of a type that clients read';
}
my %found = ('k=x' => [[7], 7], 'k=x&a=y' => [[5, 7], 5], 'k=x&r=6r/h' => [[6, 7], 6], 'a=y' => [[5], 5]);
for my $arguments (sort keys %found) {
    my $report = $nginx->get("/some?$arguments")->json;
    my @limits = sort { $a <=> $b } map { $_->{limit} } values %{$report->{resources}};
    is_deeply [\@limits, $report->{rate}{limit}], $found{$arguments}, "$arguments: the limits that apply, and the first of them";
}
is_deeply [keys %{$nginx->get("/beside?k=x$_")->json->{resources}}], ['core'], 'limits of running requests are not told, nor do several of one name matter'
    for '', '&other=y';
is $nginx->get('/bypass?k=x&b=0')->status, 200, 'a bypass that is off';
is $nginx->get('/some?k=x&r=banana')->status, 503, 'a rate that is none cannot be read';

done;
