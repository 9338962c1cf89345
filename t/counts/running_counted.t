# JSON, metrics and the page say how many requests of each limit of running requests run on this machine, in all its workers, and how many slots it holds in Redis:
# those that were let in while Redis is away too, and not those that were rejected, or pass in a dry run without a slot, or whose clients have left.

use RateLimit::Test;
use JSON::PP;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, workers => 3, reuseport => 1, http => redis_block('main', $redis) . 'map $arg_n $n { default 9; ~^\d $arg_n; }',
    server => 'rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }
        location /here  { rate_limit_concurrency 4 name=here; proxy_pass http://%%UP%%; }
        location /fleet { rate_limit_concurrency $n name=fleet store=main; proxy_pass http://%%UP%%; }
        location /dry   { rate_limit_concurrency 1 name=dry dry_run=on; proxy_pass http://%%UP%%; }
        location /rate  { rate_limit 100r/m name=rate; proxy_pass http://%%UP%%; }',
);
$nginx->expect_log(qr/prematurely closed/);

my sub told () {
    return {map { $_->{name} => [@$_{qw(running slots)}] } @{decode_json($nginx->get('/limits/json')->body)->{limits}}};
}
my sub metrics () {
    return {map { /^nginx_rate_limit_(concurrency_\w+)\{limit="(\w+)",store="(\w+)"\} (\d+)$/ ? ("$1 $2 $3" => $4) : () } split /\n/, $nginx->get('/limits/metrics')->body};
}
is_deeply told(), {here => [0, undef], fleet => [0, 0], dry => [0, undef], rate => [undef, undef]}, 'nothing runs';
is_deeply metrics(), {(map { ("concurrency_running $_ local" => 0, "concurrency_limit $_ local" => $_ eq 'dry' ? 1 : 4) } qw(here dry)),
    'concurrency_running fleet main' => 0, 'concurrency_slots fleet main' => 0}, 'every series is there';

my @open = map { $nginx->reach($backend, $_) }
    (map { "/here/slow?k=$_" } qw(a a a b)), (map { "/fleet/slow?k=$_" } qw(a a b)), (map { "/dry/slow?k=$_" } qw(a a)), '/rate/slow?k=a';
$nginx->get($_) for '/here?k=b', '/fleet?k=a';
is_deeply [map { $nginx->get('/here?k=a')->status } 1 .. 2], [200, 200], 'the fourth passes, each time';
is $nginx->get('/fleet?k=b&n=1')->status, 429, 'one is rejected';
# Slots are counted in rounds, of which the last whole one is told: in an earlier one a request that has ended may have had its own.
my ($in_json, $in_metrics, $page);
wait_until {
    ($in_json, $in_metrics, $page) = (told(), metrics(), $nginx->get('/limits/')->body);
    $in_json->{fleet}[1] == 3 && $in_metrics->{'concurrency_slots fleet main'} == 3 && $page =~ /fleet.*9 at a time.*<td[^>]*>3<\/td><td[^>]*>3</
} what => 'the slots to be counted';
is_deeply $in_json, {here => [4, undef], fleet => [3, 3], dry => [1, undef], rate => [undef, undef]}, 'what runs is counted once';
is_deeply $in_metrics, {'concurrency_running here local' => 4, 'concurrency_limit here local' => 4, 'concurrency_running dry local' => 1, 'concurrency_limit dry local' => 1,
    'concurrency_running fleet main' => 3, 'concurrency_slots fleet main' => 3}, 'and in the metrics';
my ($table) = $page =~ m{<table id="running-table">.*?<tbody>(.*?)</tbody>}s;
is_deeply [map { join('|', map { s/<[^>]*>//gr } m{<t[hd][^>]*>(.*?)</t[hd]>}g) =~ s/1 at a time, (?=9)//r } $table =~ m{<tr>(.*?)</tr>}g],
    ['here|local|4 at a time|4|–', 'fleet|main|9 at a time|3|3', 'dry|local|1 at a time|1|–'], 'and on the page';
my ($limits) = $nginx->get('/limits/')->body =~ m{<table id="limits-table">.*?<tbody>(.*?)</tbody>}s;
like $limits, qr{>concurrency</td><td[^>]*>4 at a time<}, 'which names no period';
my ($here) = grep { $_->{name} eq 'here' } @{decode_json($nginx->get('/limits/json')->body)->{limits}};
is_deeply [@$here{qw(mode window rates)}], ['concurrency', 'slots', [{limit => 4, period => undef}]], 'nor does JSON';

$redis->freeze;
push @open, my $away = $nginx->reach($backend, '/fleet/slow?k=new');
is told()->{fleet}[0], 4, 'a request that was let in without an answer of Redis runs';
$redis->thaw;
$_->abort for splice @open, 0, 3;
wait_until { told()->{here}[0] == 1 } what => 'the clients that left';
$backend->release('gate');
is $_->response->status, 200 for @open;
wait_until { !grep { $_->[0] || $_->[1] } values %{told()} } what => 'the end of all';

done;
