# Limits for whose counters the zone has no room are counted together, as the limit "*" of the store "*", and by themselves show 0: so no
# decision is told twice, and none is missing. In a zone with room for all there is no such limit.

use RateLimit::Test;
use JSON::PP;

my sub server ($limits) {
    return 'rate_limit_key $arg_k; rate_limit_store local; location /limits/ { rate_limit_console view; }'
        . join('', map { " location = /x$_ { rate_limit 3r/d name=limit_$_; }" } 1 .. $limits);
}
my sub page ($nginx) {
    my $json = decode_json($nginx->get('/limits/json')->body);
    my %metrics;
    my $text = $nginx->get('/limits/metrics')->body;
    $metrics{$2}{$3}{$1} = $4 while $text =~ /^nginx_rate_limit_(\w+)\{limit="([^"]+)",store="([^"]+)"(?:,outcome="passed")?\} (\d+)$/mg;
    return ($json, \%metrics, $nginx->get('/limits/')->body);
}
my $count = 20;
my $nginx = RateLimit::Nginx->start(http => 'rate_limit_zone 128k;', server => server($count));
for my $limit (1 .. $count) { $nginx->get("/x$limit?k=$_") for 1 .. $limit, 1, 1, 1 }

my ($json, $metrics, $page) = page($nginx);
my %told = map { $_->{name} => $_ } @{$json->{limits}};
is scalar(@{$json->{limits}}), $count + 1, 'JSON has each limit, and one more';
my $others = delete $told{'*'};
is $json->{limits}[-1]{name}, '*', '... that comes last';
is_deeply [@{$others}{qw(store mode window rates enforced minutes)}], ['*', undef, undef, [], undef, []], '... and is no limit of the configuration';
my %due  = map { ("limit_$_" => {passed => $_ + 2, rejected => 1}) } 1 .. $count;
my @own  = grep { $told{$_}{decisions}{passed} } sort keys %told;
my @rest = grep { !$told{$_}{decisions}{passed} } sort keys %told;
ok @own && @rest, scalar(@own) . ' limits have counters of their own';
for my $outcome (qw(passed rejected)) {
    is_deeply [map { $told{$_}{decisions}{$outcome} } @own], [map { $due{$_}{$outcome} } @own], "$outcome: what they decided";
    is $others->{decisions}{$outcome}, sum0(map { $due{$_}{$outcome} } @rest), '... and what the others did, together';
}
is_deeply [map { @{$told{$_}}{qw(unasked charged)} } @rest], [map { (0, 0) } @rest], 'by themselves these show 0';
is $others->{charged}, sum0(map { $due{$_}{passed} } @rest), 'what they charged';
is $json->{requests}{passed}, sum0(map { $_->{passed} } values %due), 'requests are counted';

is $metrics->{$_}{local}{decisions_total}, $told{$_}{decisions}{passed}, "metrics say the same of $_" for sort keys %told;
is $metrics->{'*'}{'*'}{decisions_total},    $others->{decisions}{passed}, '... and of the others';
is $metrics->{'*'}{'*'}{charged_cost_total}, $others->{charged},           '... with what they charged';
is_deeply [grep { exists $metrics->{'*'}{'*'}{$_} } qw(enforced_ratio limit)], [], '... but not what they are';
like $page, qr{<tr><th scope="row">\*</th>(?:<td[^>]*>[^<]*</td>){2}<td>\*</td><td colspan="3">all limits together [^<]*</td><td class="n[^"]*">$others->{decisions}{passed}</td>}, 'so does the page';

my $roomy = RateLimit::Nginx->start(http => 'rate_limit_zone 1m;', server => server($count));
$roomy->get("/x$_?k=1") for 1 .. $count;
($json, $metrics) = page($roomy);
is_deeply [map { $_->{decisions}{passed} } @{$json->{limits}}], [(1) x $count], 'with room for all each limit has its counts';
is $metrics->{'*'}, undef, '... and no limit is told beside them';

done;
