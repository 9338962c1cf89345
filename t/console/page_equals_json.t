# The page and the JSON give the same figures: requests, limits, nodes, writes, waits, memory, and the keys that are rejected
# most.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main') . 'rate_limit_key $arg_k; map $arg_rate $rate { default 7r/m; }',
    server => 'location /limits/ { rate_limit_console view; }
        location /check { rate_limit 3r/h name=check store=main; } location /refund { rate_limit 2r/30s name=refund store=main mode=charge_refund; }
        location /lease { rate_limit 100r/d name=lease store=main mode=lease; } location /local { rate_limit 1r/2h name=local dry_run=on; }
        location /clock { rate_limit $rate name=clock window=clock; }',
);
for my $uri (qw(check refund lease local clock)) { $nginx->get("/$uri?k=$_") for map { ($_) x 5 } 'a' .. 'e' }

# The rows of a table, by the text of its cells. A cell for several rows is in each of them.
my sub rows ($page, $id) {
    my ($table) = $page =~ m{<table id="\Q$id\E">.*?<tbody>(.*?)</tbody>}s or return;
    my ($above, $left) = ('', 0);
    return map {
        my @cells = map { s/<[^>]*>//gr =~ s/(?<=\d),(?=\d{3})//gr } m{<t[hd][^>]*>(.*?)</t[hd]>}g;
        if (/rowspan="(\d+)"/) { ($above, $left) = ($cells[0], $1) }
        elsif ($left > 0)      { unshift @cells, $above }
        $left--;
        [@cells];
    } $table =~ m{<tr>(.*?)</tr>}g;
}
my sub both () {
    my ($json, $page) = map { $nginx->get("/limits/$_")->body } 'json', '';
    return (decode_json($json), $page);
}

# Charges are written after their answers, and what waits is summed up once a second: a page counts that was made between two documents that say
# the same.
my ($json, $page);
my sub figures ($of) { return JSON::PP->new->canonical->encode({%$of, time => 0}) }
wait_until { ($json, $page) = both(); figures($json) eq figures((both())[0]) } what => 'rest';

my @requests = $page =~ m{<dt>[^<]*</dt><dd><b>([\d,]+)</b>}g;
is_deeply \@requests, [map { "$json->{requests}{$_}" } qw(passed rejected rejected_dry_run error_local error_allowed error_denied bypassed)], 'requests';

my %said  = (check => '3 per h', refund => '2 per 30 s', lease => '100 per d', local => '1 per 2 h', clock => '7 per min');
my @limits = rows($page, 'limits-table');
is_deeply [map { [@$_[0, 3, 7 .. 14]] } @limits],
    [map { my $limit = $_; [@$limit{qw(name store)}, (map { "$limit->{decisions}{$_}" } qw(passed rejected rejected_dry_run error_local error_allowed error_denied)),
        "$limit->{unasked}", "$limit->{charged}"] } @{$json->{limits}}], 'what limits decided';
is_deeply {map { $_->[0] => $_->[5] } @limits}, \%said, '... at their rates';
is_deeply {map { $_->[0] => $_->[6] } @limits}, {(map { $_ => 'yes' } keys %said), local => 'no: a dry run'}, '... and whether they are enforced';
is_deeply {map { $_->[0] => $_->[4] } @limits},
    {map { $_->{name} => $_->{mode} . ($_->{window} eq 'clock' ? ', by the clock' : '') } @{$json->{limits}}}, '... and how they count';

is_deeply {map { $_->[0] => [@$_[1, 2]] } @limits}, {map { my $limit = $_; ($limit->{name} => [map { my $what = $_; my $sum = 0; $sum += $_->{$what} for @{$limit->{minutes}}[-5 .. -1]; "$sum" } qw(passed rejected)]) } @{$json->{limits}}},
    '... and what they decided lately';

my @shards = @{$json->{stores}[0]{shards}};
is_deeply [map { [@$_[0 .. 3, 6]] } rows($page, 'store-1-nodes')],
    [map { my $shard = $_; map { [$shard->{name}, @$_{qw(address role)}, $_->{up} ? 'up' : 'down', "$_->{commands}"] } @{$shard->{nodes}} } @shards], 'nodes';
my @times = map { map { $_->{answer_time} } @{$_->{nodes}} } @shards;
is_deeply [map { $_->[5] } rows($page, 'store-1-nodes')], [map { defined ? sprintf('%.3g ms', 1000 * $_) : '–' } @times], '... and how long they take';
is_deeply [rows($page, 'store-1-writes')],
    [map { my $shard = $_; map { my $kind = $_; [$shard->{name}, "${kind}s", map { "$shard->{writes}{$kind}{$_}" } qw(stored dropped in_doubt expired)] }
        qw(charge reservation refund) } @shards], 'writes';
is_deeply [map { [@$_[0 .. 3, 6 .. 11]] } rows($page, 'store-1-waits')],
    [map { my $shard = $_; [$shard->{name}, "$shard->{waiting}{windows}", "$shard->{waiting}{charges}", "$shard->{wait}{count}", "$shard->{raised}",
        map { "$shard->{leases}{$_}" } qw(tokens fetched spent returned lost)] } @shards], 'what waits, what failovers had lost, and tokens';

is_deeply [map { [@$_[0 .. 5]] } rows($page, 'top-table')],
    [map { my $key = $_; [map { "$key->{$_}" } qw(limit store id rejected over dry_run)] } @{$json->{top}{keys}}], 'the keys that are rejected most';
my $windows = $json->{zone}{windows};
like $page =~ s/(?<=\d),(?=\d{3})//gr, qr/open: $windows->{open} of $windows->{capacity}, and $windows->{closed} that have ended/, 'memory';
is_deeply [map { $_->[1] } rows($page, 'pressure-table')], [map { "$_" } @{$json->{zone}{evicted}}{qw(copy tokens local)}, $json->{zone}{full}], 'what gave way';

for my $limit (@{$json->{limits}}) {
    my %hour;
    for my $minute (@{$limit->{minutes}}) { $hour{$_} += $minute->{$_} for keys %$minute }
    my @words = ("$hour{passed} passed", $hour{rejected_dry_run} ? "$hour{rejected_dry_run} rejected in a dry run" : (), $hour{rejected} ? "$hour{rejected} rejected" : ());
    like $page, qr/aria-label="The last hour of $limit->{name}: @{[join ', ', @words]}; at most \d+ in a minute"/, "the hour of $limit->{name}, in words";
}

done;
